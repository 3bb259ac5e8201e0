"""Queries of several rewriters, searched for by themselves, and their rankings fused."""

from convrag import Register, hookimpl

_REFORMULATE = "convrag_fusion.rewriters:ReformulateRewriter"


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rewriters and the retriever."""
    register(
        "rewriter",
        "ensemble",
        "convrag_fusion.rewriters:EnsembleRewriter",
        "Give the weighted queries of up to five rewriters, which fail in different ways.",
    )
    register(
        "rewriter",
        "reformulate",
        _REFORMULATE,
        "Ask the LLM for one of five kinds of queries, for use in `rewriter=ensemble`.",
    )
    for kind in ("keywords", "entities", "answer", "context"):
        register(
            "rewriter",
            f"reformulate_{kind}",
            _REFORMULATE,
            "Ask the LLM for one of five kinds of queries, for use in `rewriter=ensemble`.",
            kind=kind,
        )
    register(
        "retriever",
        "fused",
        "convrag_fusion.retriever:FusedRetriever",
        "Search for the queries of each rewriter by themselves, and fuse the rankings into one.",
    )
