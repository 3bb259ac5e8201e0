"""Optional cosmetics of a rewrite."""

from __future__ import annotations

_QUESTION_WORDS = """
am are can could did do does had has have how is may might must shall should was were what when where which who
whom whose why will would
"""
_ASKING = frozenset(_QUESTION_WORDS.split())


def polish(text: str) -> str:
    """Single spaces, a capital at the beginning, and a question mark behind a question that has no end mark.

    Keywords and commands get none, and nothing that ends with a mark is changed.
    """
    text = " ".join(text.split())
    first = text.partition(" ")[0].lower().replace("’", "'").removesuffix("'s")
    if first in _ASKING and text[-1].isalnum():
        text += "?"
    return text[:1].upper() + text[1:]
