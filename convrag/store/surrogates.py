"""Half surrogate pairs in the replies of language models.

Half a pair is no character: UTF-8 has no form for it, so no file, terminal or server takes it. Models give halves where
a reply is cut within an emoji.
"""

from __future__ import annotations

from collections.abc import Callable


def mend_surrogates(text: str) -> str:
    """Join the two halves of surrogate pairs to characters, and replace single halves by U+FFFD, as Unicode says."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class SurrogateMender:
    """Passes the pieces of a reply on to a listener, mended. A piece that ends within a pair waits for the next one."""

    def __init__(self, listener: Callable[[str], None]) -> None:
        self._listener = listener
        self._held = ""

    def __call__(self, piece: str) -> None:
        """Pass a piece on."""
        text = self._held + piece
        self._held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        if text := text.removesuffix(self._held):
            self._listener(mend_surrogates(text))

    def flush(self) -> None:
        """Pass on what still waits."""
        held, self._held = self._held, ""
        if held:
            self._listener(mend_surrogates(held))
