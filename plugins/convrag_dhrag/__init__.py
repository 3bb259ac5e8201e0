"""DH-RAG: a question is rewritten from a dynamic database of the history."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "rewriter",
        "dhrag",
        "convrag_dhrag.rewriter:DHRagRewriter",
        "Ask the LLM for a standalone question, given the exchanges that match by cluster"
        " or chain.",
    )
