"""Corpora: files of passages, as BEIR's corpus.jsonl or in another format of rows, and their fingerprints."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from convrag import DataError, Passage
from convrag.sdk import jsonl as user_files
from convrag.sdk.identity import digest, file_hash
from convrag.sdk.jsonl import check_is_file
from convrag_datasets import row_files, rows, tables
from convrag_datasets.row_files import Columns, read_rows
from convrag_datasets.rows import Row, with_ids

_FIELDS = ("text", "title", "url", "metadata")
_CODE = [Path(__file__)] + [Path(str(module.__file__)) for module in (rows, row_files, tables, user_files)]


def read_passages(path: Path, columns: Columns | None = None) -> Iterator[Passage]:
    """Stream the passages of a file; only their ids are kept in memory.

    A passage may have an empty text, since published corpora have some (BEIR's FiQA) and their ids count.

    Args:
        path: JSONL, a JSON array, CSV, TSV or Parquet.
        columns: the fields `id`, `text`, `title` and `url` whose columns have other names.

    Raises:
        DataError: the file cannot be read, a line is no passage, an id occurs twice, or there is no passage.
    """
    return make_passages(read_rows(path, columns), path)


def make_passages(rows: Iterable[Row], path: Path) -> Iterator[Passage]:
    """Stream the passages of the rows of a file or a folder. Raises DataError as `read_passages` does."""
    empty = True
    for passage_id, row in with_ids(rows, "passage", lambda row: row.require_id("_id", "id")):
        yield _read_passage(passage_id, row)
        empty = False
    if empty:
        raise DataError("this corpus holds no passages", path=path)


def fingerprint_corpus(path: Path, columns: Columns | None = None) -> str:
    """A hash of a corpus file and of the code that reads it, for indexes. Raises DataError where it cannot be read."""
    check_is_file(path)
    try:
        content = _hash_current(path)
    except OSError as error:
        raise DataError(f"this file cannot be read: {error}", path=path) from error
    return digest([content, *map(file_hash, _CODE), *sorted((columns or {}).items())])


def hash_content(path: Path) -> str:
    """A hash of a file's bytes; empty for a file that is missing or unreadable, which is for `check` to report."""
    try:
        return _hash_current(path) if path.is_file() else ""
    except OSError:
        return ""


def _hash_current(path: Path) -> str:
    status = path.stat()
    return _hash_file(path.absolute(), status.st_size, status.st_mtime_ns)


@cache
def _hash_file(path: Path, size: int, modified: int) -> str:
    """Size and time make a changed file a new entry of the cache."""
    return file_hash(path)


def _read_passage(passage_id: str, row: Row) -> Passage:
    given = row.fields.get("metadata")
    metadata = given if isinstance(given, dict) else {} if given is None else {"metadata": given}
    return Passage(
        id=passage_id,
        text=row.get("text").read_text(),
        title=row.optional_text("title"),
        url=row.optional_text("url"),
        metadata={**metadata, **row.other_fields("_id" if row.has("_id") else "id", *_FIELDS)},
    )
