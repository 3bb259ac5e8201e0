"""MMR cluster rewriting: a question is rewritten from diverse sentences of the history."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "rewriter",
        "mmr",
        "convrag_mmr.rewriter:MMRRewriter",
        "Ask the LLM for a standalone question, given diverse sentences of the history (MMR).",
    )
