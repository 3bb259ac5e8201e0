"""DH-RAG: rewrite a question from a dynamic database of the history, matched by cluster, summary
and chain.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "rewriter",
        "dhrag",
        "convrag_dhrag.rewriter:DHRagRewriter",
        "Ask the LLM for a standalone question, showing it matching exchanges of the "
        "history: by cluster, summary, chain.",
    )
