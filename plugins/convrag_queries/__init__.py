"""Several queries for one question: the readings of an ambiguous follow-up, and theme words of the conversation."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the rewriters."""
    register("rewriter", "multi_query", "convrag_queries.multi_query:MultiQueryRewriter")
    register("rewriter", "themes", "convrag_queries.themes:ThemesRewriter")
