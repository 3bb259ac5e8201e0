"""Queries of several rewriters, searched for by themselves, and their rankings fused."""

from convrag import Register, hookimpl

_REFORMULATE = "convrag_fusion.rewriters:ReformulateRewriter"


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rewriters and the retriever."""
    register("rewriter", "ensemble", "convrag_fusion.rewriters:EnsembleRewriter")
    register("rewriter", "reformulate", _REFORMULATE)
    for kind in ("keywords", "entities", "answer", "context"):
        register("rewriter", f"reformulate_{kind}", _REFORMULATE, kind=kind)
    register("retriever", "fused", "convrag_fusion.retriever:FusedRetriever")
