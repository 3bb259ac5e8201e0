"""Users' JSONL files, plain or compressed, read line by line, so that an error names its line."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from zipfile import BadZipFile, ZipFile

from convrag.api.errors import DataError
from convrag.api.rows import describe_first_problem
from convrag.store.json_text import parse_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

UNREADABLE = (OSError, EOFError, BadZipFile, zlib.error, RuntimeError)
"""The errors that opening and reading a file may raise.

zipfile has RuntimeError for an encrypted archive, and its NotImplementedError for an unknown
compression.
"""

T = TypeVar("T")

_PACKED = (".gz", ".zip")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BUFFER = 1 << 16
_TYPE_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a truth value",
    int: "a number",
    float: "a number",
}


class Line(NamedTuple):
    """A line of a file that is not blank.

    Args:
        path: of the file.
        number: of the line, from 1.
        text: of the line.
    """

    path: Path
    number: int
    text: str

    def error(self, message: str) -> DataError:
        """Make a DataError that names this line."""
        return DataError(message, path=self.path, line=self.number)

    def json(self) -> dict[str, Any]:
        """Parse the line as a JSON object. Raises DataError."""
        try:
            data = parse_json(self.text)
            if _SURROGATE.search(self.text):
                json.dumps(data, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise self.error("half of a surrogate pair is no character") from error
        except ValueError as error:
            raise self.error(f"this is not JSON: {error}") from error
        if not isinstance(data, dict):
            raise self.error(f"this must be a JSON object, not {json_type(data)}")
        return data

    def parse(self, kind: type[T], what: str) -> T:
        """Parse the line as a JSON object with the fields of a dataclass, and ignore other fields.

        Args:
            kind: the dataclass.
            what: the name of such an object, for the message ("an answer").

        Raises:
            DataError: it names the field that is missing or malformed.
        """
        from pydantic import ValidationError

        self.json()  # its messages are better where this is no JSON object
        try:
            adapter = _make_adapter(kind)  # type: ignore[arg-type]  # a class can be hashed
            parsed: T = adapter.validate_json(self.text, strict=True)
        except ValidationError as error:
            raise self.error(f"this is not {what}: {describe_first_problem(error)}") from error
        return parsed


@cache
def _make_adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Make the parser of a dataclass once, which takes milliseconds."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def json_type(value: Any) -> str:
    """Name the type of a JSON value ("a list") for a message about a value of the wrong type."""
    return _TYPE_NAMES.get(type(value), "null")


def read_lines(path: Path) -> Iterator[Line]:
    r"""Yield the lines that are not blank, without line ends and byte order mark.

    Only \n ends a line.

    Args:
        path: a UTF-8 file; a .gz or .zip file is unpacked while it is read.

    Raises:
        DataError: the file is missing, cannot be unpacked, or is not UTF-8.
    """
    check_is_file(path)
    number = 0
    try:
        with open_unpacked(path) as file:
            for number, raw in enumerate(file, 1):
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if text.strip():
                    yield Line(path, number, text)
    except UnicodeDecodeError as error:
        message = f"this is not UTF-8 ({error.reason} at byte {error.start}): save it as UTF-8"
        raise DataError(message, path=path, line=number) from error
    except UNREADABLE as error:
        line = number + 1 if number else None
        raise DataError(f"this file cannot be read: {error}", path=path, line=line) from error


def read_lines_in(path: Path, *suffixes: str) -> Iterator[Line]:
    """Yield the lines of a file, or of a folder's files with one of the suffixes.

    See `list_files` and `read_lines`.
    """
    files = list_files(path, *suffixes)
    return chain.from_iterable(read_lines(file) for file in files)


def check_is_file(path: Path) -> None:
    """Raise DataError unless the path is a file; the contents of a pipe could not be hashed."""
    if path.is_dir():
        raise DataError("this is a folder, where a file is needed", path=path)
    if not path.exists():
        raise DataError("this file does not exist", path=path)
    if not path.is_file():
        raise DataError("this is a pipe or the like, where a file is needed", path=path)


def list_files(path: Path, *suffixes: str) -> list[Path]:
    """List a folder's files with one of the suffixes, by name; a file is listed alone.

    Raises:
        DataError: there is no such file.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError("there is no such file or folder", path=path)
    files = [file for file in path.iterdir() if file.suffix in suffixes and file.is_file()]
    if not files:
        patterns = " or ".join(f"*{suffix}" for suffix in suffixes)
        raise DataError(f"this folder has no {patterns} file", path=path)
    return sorted(files)


def data_suffix(path: Path) -> str:
    """Return the suffix of a file; for "runs.jsonl.gz", that of the file inside: ".jsonl"."""
    is_packed = path.suffix.lower() in _PACKED
    unpacked = path.with_suffix("") if is_packed else path
    return unpacked.suffix


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading; .zip and .gz files are unpacked.

    Raises:
        DataError: it is an archive of several files.
        UNREADABLE: one of these, where it cannot be opened or unpacked.
    """
    kind = path.suffix.lower()
    if kind == ".zip":
        with ZipFile(path) as archive, archive.open(_find_data_file(archive, path)) as file:
            yield io.BufferedReader(cast(io.RawIOBase, file), _BUFFER)
    elif kind == ".gz":
        with gzip.open(path) as file:
            yield cast(IO[bytes], file)
    else:
        with path.open("rb") as file:
            yield file


def _find_data_file(archive: ZipFile, path: Path) -> str:
    """Find the data file of a .zip archive.

    Hidden files and those that macOS adds are ignored. Raises DataError.
    """
    paths = [PurePosixPath(info.filename) for info in archive.infolist() if not info.is_dir()]
    visible = [
        each for each in paths if "__MACOSX" not in each.parts and not each.name.startswith(".")
    ]
    named = [each for each in visible if each.name == path.stem]
    found = named or [each for each in visible if each.suffix.lower() == ".jsonl"]
    if len(found) != 1:
        contents = ", ".join(map(str, visible)) or "nothing"
        raise DataError(
            f"this archive must hold exactly one .jsonl file, or one named {path.stem}; "
            f"it holds {contents}",
            path=path,
        )
    return str(found[0])
