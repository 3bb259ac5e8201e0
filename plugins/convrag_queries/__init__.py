"""Several queries for one question: its readings, its aspects (RAG-Fusion), and theme words of the conversation."""

from convrag import Register, hookimpl

_MULTI_QUERY = "convrag_queries.multi_query:MultiQueryRewriter"


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rewriters."""
    register("rewriter", "multi_query", _MULTI_QUERY)
    register("rewriter", "rag_fusion", _MULTI_QUERY, kind="aspects", n=5)
    register("rewriter", "themes", "convrag_queries.themes:ThemesRewriter")
