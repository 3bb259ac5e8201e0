"""The lines that were typed in a chat, in a file that nobody else can read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory

LONGEST_LINE = 10_000
"""Characters of a line that is kept: a longer one was pasted."""

LARGEST_FILE = 1_000_000
"""Bytes of the file above which the older half of it is dropped."""


class QuestionHistory(FileHistory):
    """The history of a prompt in a file of mode 0600. Where the file cannot be written, lines are kept in memory.

    Args:
        path: the file; made where it is missing.
    """

    def __init__(self, path: Path) -> None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            path.chmod(0o600)
            if path.stat().st_size > LARGEST_FILE:
                _drop_older_half(path)
        super().__init__(path)

    def load_history_strings(self) -> list[str]:
        """Read the lines, the newest one first; none where the file cannot be read."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Append a line to the file."""
        if len(string) <= LONGEST_LINE:
            with suppress(OSError):
                super().store_string(string.encode("utf-8", "replace").decode())


def _drop_older_half(path: Path) -> None:
    """Write the newer half of a file anew, from the beginning of an entry; an entry begins with "# " and the time."""
    content = path.read_bytes()
    start = content.find(b"\n# ", len(content) // 2)
    path.write_bytes(content[start:] if start > 0 else b"")
