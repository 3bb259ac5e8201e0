"""Many queries, fused: the queries of several rewriters, searched by themselves, and their rankings made one."""

from __future__ import annotations

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rewriters and the retriever."""
    register("rewriter", "ensemble", "convrag_fusion.ensemble:EnsembleRewriter")
    register("rewriter", "reformulate", "convrag_fusion.reformulate:ReformulateRewriter")
    register("retriever", "fused", "convrag_fusion.retriever:FusedRetriever")
