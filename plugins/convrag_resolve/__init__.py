"""References to what was said, resolved by a language model ("How high is it?").

* `rewriter`: `rewriter=resolve`, also as a step before another rewriter.
* `references`: the model's reply, its check, and the question with its references written out.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `rewriter=resolve`."""
    register("rewriter", "resolve", "convrag_resolve.rewriter:ResolveRewriter")
