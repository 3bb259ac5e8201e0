"""Lines of text files, plain or compressed, one at a time."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast
from zipfile import BadZipFile, ZipFile

from convrag.errors import DataError

# zipfile raises RuntimeError for an encrypted archive and its NotImplementedError for an unknown compression
_UNREADABLE = (OSError, EOFError, BadZipFile, zlib.error, RuntimeError)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Stream the lines that are not blank, with their numbers from 1, without line ends and byte order mark.

    Args:
        path: a UTF-8 file; one that ends in .gz or .zip is unpacked while it is read.

    Raises:
        DataError: the file is missing, no archive of its kind, or not UTF-8.
    """
    must_exist(path)
    number = 0
    try:
        with _opened(path) as file:
            for number, raw in enumerate(file, 1):
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if line.strip():
                    yield number, line
    except UnicodeDecodeError as error:
        raise DataError(f"this is not UTF-8 ({error.reason} at byte {error.start})", path=path, line=number) from error
    except _UNREADABLE as error:
        raise DataError(f"this file cannot be read: {error}", path=path, line=number + 1 if number else None) from error


def must_exist(path: Path) -> None:
    """Raise DataError unless there is a file."""
    if path.is_dir():
        raise DataError("this is a folder, where a file is needed", path=path)
    if not path.is_file():
        raise DataError("this file does not exist", path=path)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    kind = path.suffix.lower()
    if kind == ".zip":
        with ZipFile(path) as archive, archive.open(_member(archive, path)) as file:
            yield io.BufferedReader(cast(io.RawIOBase, file), 1 << 16)
    elif kind == ".gz":
        with gzip.open(path) as file:
            yield cast(IO[bytes], file)
    else:
        with path.open("rb") as file:
            yield file


def _member(archive: ZipFile, path: Path) -> str:
    """The one data file of an archive; what macOS and other packers add beside it does not count."""
    paths = [PurePosixPath(info.filename) for info in archive.infolist() if not info.is_dir()]
    visible = [each for each in paths if "__MACOSX" not in each.parts and not each.name.startswith(".")]
    found = [each for each in visible if each.suffix.lower() == ".jsonl"]
    if len(found) > 1:
        found = [each for each in found if each.name == path.stem] or found
    if len(found) != 1:
        there = ", ".join(map(str, visible)) or "nothing"
        raise DataError(
            f"this archive must hold exactly one .jsonl file, or one named {path.stem}; it holds {there}", path=path
        )
    return str(found[0])
