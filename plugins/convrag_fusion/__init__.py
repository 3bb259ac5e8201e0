"""Many queries, fused: the queries of several rewriters, searched by themselves, and their rankings
made one.
"""

from convrag import Register, hookimpl

_REFORMULATE = "convrag_fusion.rewriters:ReformulateRewriter"


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rewriters and the retriever."""
    register(
        "rewriter",
        "ensemble",
        "convrag_fusion.rewriters:EnsembleRewriter",
        "Give the queries of up to five rewriters, weighted: rewrites that fail in "
        "different ways help each other.",
    )
    register(
        "rewriter",
        "reformulate",
        _REFORMULATE,
        "Ask the LLM for one of five kinds of queries, which complement each other in "
        "`rewriter=ensemble`.",
    )
    for kind in ("keywords", "entities", "answer", "context"):
        register(
            "rewriter",
            f"reformulate_{kind}",
            _REFORMULATE,
            "Ask the LLM for one of five kinds of queries, which complement each other in "
            "`rewriter=ensemble`.",
            kind=kind,
        )
    register(
        "retriever",
        "fused",
        "convrag_fusion.retriever:FusedRetriever",
        "Search for the queries of each rewriter by themselves, with any retriever, and "
        "fuse the rankings into one.",
    )
