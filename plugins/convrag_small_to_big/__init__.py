"""Passages with the text around them in their document: neighbours, the section, or all of it.

* `contexts`: `context=window`, `context=section` and `context=document`.
* `spans`: the section of a passage, and the sentences around it that fit into a number of tokens.
* `parts`: spans of one document that overlap, divided among their passages.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the contexts."""
    register(
        "context",
        "window",
        "convrag_small_to_big.contexts:WindowContext",
        "Show the model each passage with the passages before and after it in its document.",
    )
    register(
        "context",
        "section",
        "convrag_small_to_big.contexts:SectionContext",
        "Show the model the whole section of each passage, within a number of tokens.",
    )
    register(
        "context",
        "document",
        "convrag_small_to_big.contexts:DocumentContext",
        "Show the model the whole documents of the passages where they are short.",
    )
