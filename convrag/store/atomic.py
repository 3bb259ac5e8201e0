"""Atomic writes: a file appears under its name whole, or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal


def write_atomically(path: Path, text: str) -> None:
    """Write a text file in UTF-8, in place of one that is there.

    Raises:
        OSError: the folder is missing, or cannot be written to; a file that was there stays as it was.
    """
    with replacing(path) as file:
        file.write(text)


@contextmanager
def replacing(path: Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Open a new file beside `path`; it is renamed to `path` at the end of the block, and removed if the block fails.

    Each call writes a file of its own, so two processes may write one path at the same time: the last to end wins.

    Args:
        path: the file to write; its folder must exist.
        mode: "w" for text, in UTF-8 and with plain line ends on every system, or "wb" for bytes.

    Raises:
        OSError: the folder is missing, or cannot be written to; a file that was there stays as it was.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.unfinished")
    try:  # plain open(), because the files of tempfile can be read by their owner alone
        with unfinished.open("x", encoding="utf-8", newline="\n") if mode == "w" else unfinished.open("xb") as file:
            yield file
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
