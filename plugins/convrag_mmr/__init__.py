"""MMR cluster rewriting: rewrite a question from sentences of the history, chosen by clustering and
MMR.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "rewriter",
        "mmr",
        "convrag_mmr.rewriter:MMRRewriter",
        "Ask the LLM for a standalone question, showing it a few sentences of the "
        "history, relevant and diverse (MMR).",
    )
