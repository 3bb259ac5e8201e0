"""Corpora: BEIR's corpus.jsonl, one passage a line."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from convrag import DataError, Passage
from convrag.sdk import jsonl as user_files
from convrag.sdk.jsonl import check_is_file
from convrag.store.fingerprint import digest, file_hash
from convrag_datasets.json_rows import Row, Unique, read_rows

_FIELDS = ("text", "title", "url", "metadata")
_CODE = [Path(__file__), Path(__file__).with_name("json_rows.py"), Path(user_files.__file__)]


def read_passages(path: Path) -> Iterator[Passage]:
    """Stream the passages of a file; only their ids are kept.

    A passage may have an empty text, since published corpora have some (BEIR's FiQA) and their ids count.

    Raises:
        DataError: the file, or one of its lines, is not what it should be, or it holds no passage.
    """
    ids = Unique("passage id")
    for row in read_rows(path):
        passage = _passage(row)
        ids.add(passage.id, row)
        yield passage
    if not ids:
        raise DataError("this corpus holds no passages", path=path)


def read_first(path: Path) -> None:
    """Raise DataError where not even the first passage can be read."""
    next(read_passages(path))


def fingerprint(path: Path) -> str:
    """A hash of a corpus file and of the code that reads it, for indexes. Raises DataError where there is no file."""
    check_is_file(path)
    return digest([bytes_hash(path), *map(file_hash, _CODE)])


def bytes_hash(path: Path) -> str:
    """A hash of a file's bytes, computed again only when the file has changed; of a missing file, empty."""
    if not path.is_file():
        return ""
    status = path.stat()
    return _hash(path.absolute(), status.st_size, status.st_mtime_ns)


@cache
def _hash(path: Path, size: int, modified: int) -> str:
    return file_hash(path)


def _passage(row: Row) -> Passage:
    name = "_id" if "_id" in row.data else "id"
    given = row.data.get("metadata")
    metadata = given if isinstance(given, dict) else {} if given is None else {"metadata": given}
    return Passage(
        id=row.text("_id", "id"),
        text=row.text("text", blank=True),
        title=row.optional("title"),
        url=row.optional("url"),
        metadata={**metadata, **row.others(name, *_FIELDS)},
    )
