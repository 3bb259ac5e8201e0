"""`rewriter=imagined`: search with a passage that a language model makes up."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the rewriter."""
    register(
        "rewriter",
        "imagined",
        "imagined.rewriter:ImaginedRewriter",
        "Search also with passages that a language model makes up as answers to the question "
        "(HyDE).",
    )
