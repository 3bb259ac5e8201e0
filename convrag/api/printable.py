"""Text for terminals and logs: what could move the cursor, hide or reorder text is made visible.

Data sets, replies and plugins of others may hold any character. A terminal obeys some of them: escape sequences write
to the clipboard or paint over what was said, a lone carriage return overwrites a line, and bidirectional controls show
code in another order than it has.
"""

import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 without newline and tab, DEL, C1, bidirectional embeddings, overrides and isolates, half surrogate pairs."""

_PICTURES = {**{chr(code): chr(0x2400 + code) for code in range(0x20)}, "\x7f": "\u2421"}
"""C0 control -> the picture that Unicode has for it: an escape is shown as one character, "\u241b"."""


def make_printable(text: str) -> str:
    """Return a text with each control character replaced by one that shows it; newlines and tabs stay.

    A carriage return becomes a newline, with the newline that follows it if there is one. Every other character stays,
    so that text in any script is shown as it is.
    """
    return _CONTROL.sub(_show, text.replace("\r\n", "\n").replace("\r", "\n"))


def _show(found: re.Match[str]) -> str:
    return _PICTURES.get(found[0], "\ufffd")


class PrintableStream:
    """A text stream that replaces control characters; everything else is the stream's own.

    Args:
        unguarded: the stream that is written to.
    """

    def __init__(self, unguarded: TextIO) -> None:
        self.unguarded = unguarded

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        self.unguarded.write(make_printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def make_streams_printable() -> None:
    """Put the filter before this process's standard output and standard error, once.

    Where the terminal has no form for a character, as in LANG=C, standard output then shows a question mark.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, PrintableStream):
            continue
        if getattr(stream, "errors", "") == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
        setattr(sys, name, PrintableStream(stream))
