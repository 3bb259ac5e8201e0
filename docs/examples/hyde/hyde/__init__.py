"""`rewriter=hyde`: search with a passage that a language model makes up."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the rewriter."""
    register("rewriter", "hyde", "hyde.rewriter:HydeRewriter")
