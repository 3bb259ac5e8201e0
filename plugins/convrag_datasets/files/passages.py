"""The passages of a corpus, in files like BEIR's corpus.jsonl, and hashes of such files."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from convrag import DataError, Passage
from convrag.sdk.data import fields, jsonl
from convrag.sdk.data.fields import add_fields
from convrag.sdk.data.jsonl import check_is_file
from convrag.sdk.identity import digest, file_hash
from convrag_datasets.files import csv_rows, json_rows, parquet_rows, row as row_module, rows
from convrag_datasets.files.row import Row, with_ids
from convrag_datasets.files.rows import Columns, read_rows

_FIELDS = ("text", "title", "url", "metadata")
_IDS = ("id", "_id", "url")
"""Columns that are not fields."""

_READING_MODULES = (rows, json_rows, csv_rows, parquet_rows, row_module, jsonl, fields)
_CODE = [Path(__file__)] + [Path(str(module.__file__)) for module in _READING_MODULES]
"""The code that bears on the passages of a file."""


def read_passages(path: Path, columns: Columns | None = None) -> Iterator[Passage]:
    """Stream the passages of a file; only their ids are kept in memory.

    A passage may have an empty text, since published corpora have some (BEIR's FiQA) and their ids
    count.

    Args:
        path: JSONL, a JSON array, CSV, TSV or Parquet.
        columns: the fields `id`, `text`, `title` and `url` whose columns have other names.

    Raises:
        DataError: the file cannot be read, a line is not a passage, an id occurs twice, or there is
            no passage.
    """
    return make_passages(read_rows(path, columns), path)


def make_passages(rows: Iterable[Row], path: Path) -> Iterator[Passage]:
    """Stream the passages of the rows of a file or a folder.

    Raises DataError as `read_passages` does.
    """
    is_empty = True
    for passage_id, row in with_ids(rows, "passage", lambda row: row.require_id("_id", "id")):
        yield _read_passage(passage_id, row)
        is_empty = False
    if is_empty:
        raise DataError("this corpus holds no passages", path=path)


def _read_passage(passage_id: str, row: Row) -> Passage:
    id_field = "_id" if row.has("_id") else "id"
    metadata = {**_read_metadata(row), **row.other_fields(id_field, *_FIELDS)}
    return Passage(
        id=passage_id,
        text=row.get("text").read_text(),
        title=row.optional_text("title"),
        url=row.optional_text("url"),
        metadata=add_fields(metadata, _drop_ids(metadata)),
    )


def _drop_ids(metadata: dict[str, object]) -> dict[str, object]:
    """Leave out what is another for each passage, and so no field to filter by."""
    return {name: value for name, value in metadata.items() if name not in _IDS}


def _read_metadata(row: Row) -> dict[str, object]:
    metadata = row.fields.get("metadata")
    if metadata is None:
        return {}
    return metadata if isinstance(metadata, dict) else {"metadata": metadata}


def fingerprint_corpus(path: Path, columns: Columns | None = None) -> str:
    """Return a hash of a corpus file and of the code that reads it, for indexes.

    Raises DataError where the file cannot be read.
    """
    check_is_file(path)
    try:
        content = _hash_current(path)
    except OSError as error:
        raise DataError(f"this file cannot be read: {error}", path=path) from error
    code = [file_hash(module) for module in _CODE]
    return digest([content, *code, *sorted((columns or {}).items())])


def hash_content(path: Path) -> str:
    """Return a hash of a file's bytes; empty for a file that is missing or unreadable.

    `check` of the data set reports such a file.
    """
    try:
        return _hash_current(path) if path.is_file() else ""
    except OSError:
        return ""


def _hash_current(path: Path) -> str:
    status = path.stat()
    return _hash_file(path.absolute(), status.st_size, status.st_mtime_ns)


@cache
def _hash_file(path: Path, size: int, modified: int) -> str:
    """Hash a file; its size and time make a changed file a new entry of the cache."""
    return file_hash(path)
