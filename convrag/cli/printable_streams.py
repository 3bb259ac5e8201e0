"""Standard output and standard error without control characters, whoever writes there: messages, logs, other libraries.

Only `convrag.sdk.console` writes past the filter, since Rich's own styling is made of escape sequences.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from convrag.api.printable import make_printable


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
