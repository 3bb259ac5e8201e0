"""Atomic writes: a file is written whole, or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from convrag.store.abandonment import if_abandoned


def write_atomically(path: Path, text: str) -> None:
    """Write a text file in UTF-8, replacing an existing one.

    Raises:
        OSError: the folder is missing, or cannot be written to; an existing file stays as it was.
    """
    with open_atomically(path) as file:
        file.write(text)


@contextmanager
def open_atomically(path: Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    r"""Open a new file beside `path` for writing; it is renamed to `path` at the end of the block.

    If the block fails, the new file is removed. Each call writes a new file, so two processes may write the same path
    at the same time: the last one to finish wins.

    Args:
        path: the file to write; its folder must exist.
        mode: "w" for text, in UTF-8 and with plain line feeds on every system, or "wb" for bytes. Half a surrogate pair
            is written as JSON does it, \ud83d.

    Raises:
        OSError: the folder is missing, or cannot be written to; an existing file stays as it was.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.unfinished")

    def discard() -> None:
        unfinished.unlink(missing_ok=True)

    with if_abandoned(discard):
        try:  # open(), because only the owner can read the files of tempfile
            with unfinished.open("xb") if mode == "wb" else _open_text(unfinished) as file:
                yield file
            unfinished.replace(path)
        except OSError as error:
            error.filename = error.filename or str(path)  # a write that fails does not say where
            raise
        finally:
            discard()


def _open_text(path: Path) -> IO[str]:
    return path.open("x", encoding="utf-8", errors="backslashreplace", newline="\n")
