"""Names of files in Unicode's composed form (NFC).

macOS hands out names in which an accent is a character of its own (NFD), keyboards give composed
ones. Both look the same, so ids and patterns are compared in one form.
"""

import os
import unicodedata


def clean_name(name: str) -> str:
    r"""Return a name as composed text, with \xe9 for a byte that is not UTF-8."""
    if name.isascii():
        return name
    return compose(os.fsencode(name).decode("utf-8", "backslashreplace"))


def compose(text: str) -> str:
    """Return a text in Unicode's composed form."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def decompose(text: str) -> str:
    """Return a text in Unicode's decomposed form (NFD)."""
    return unicodedata.normalize("NFD", text)


def is_composed(text: str) -> bool:
    """Whether a text is in Unicode's composed form."""
    return text.isascii() or unicodedata.is_normalized("NFC", text)
