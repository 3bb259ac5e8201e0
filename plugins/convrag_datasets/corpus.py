"""Files of passages, as BEIR's corpus.jsonl or in another format of rows, their fingerprints; and
files of qrels.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from reprlib import repr as brief

from convrag import Conversation, DataError, Passage
from convrag.sdk.data import jsonl as user_files
from convrag.sdk.data.jsonl import Line, check_is_file, read_lines
from convrag.sdk.data.trec import decode_id, split_columns
from convrag.sdk.identity import digest, file_hash
from convrag_datasets import row_files, rows
from convrag_datasets.row_files import Columns, read_rows
from convrag_datasets.rows import Row, with_ids

_HEADER = ["query-id", "corpus-id", "score"]
_HIGHEST = 1000  # trec_eval takes a second for 10 million, and measures nothing beyond 32 bits
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def read_qrels(
    path: Path | None, conversations: Iterable[Conversation]
) -> dict[str, dict[str, int]]:
    """The qrels of a file: turn id -> passage id -> grade of relevance; none where there is no
    file.

    Args:
        path: between tabs or blanks: query-id, corpus-id, score, with or without this heading; or
            query, 0, passage, grade. Ids of the latter, and any between blanks, may be
            percent-encoded (see `convrag.sdk.data.trec`).
        conversations: those whose turns may be judged.

    Raises:
        DataError: a row has other columns, a passage has two grades for one turn, a judged turn is
            in no conversation, or there is no row.
    """
    if path is None:
        return {}
    grades: dict[str, dict[str, int]] = {}
    first_lines: dict[str, Line] = {}
    for line, turn, passage, score in _read_judgements(path):
        grade = _read_grade(score, line)
        if not turn or not passage:
            raise line.error("an id is empty")
        if grades.setdefault(turn, {}).setdefault(passage, grade) != grade:
            raise line.error(
                f"passage {passage!r} is judged twice for {turn!r}, with different scores"
            )
        first_lines.setdefault(turn, line)
    if not grades:
        raise DataError("this file holds no judgements", path=path)
    known = {turn.id for conversation in conversations for turn in conversation.turns}
    if unknown := [turn for turn in grades if turn not in known]:
        count, there = f"{len(unknown)} of {len(grades)} judged turns", min(known, default="")
        message = f"{count} are in no conversation, for instance {unknown[0]!r}; one that is there: {there!r}"
        raise first_lines[unknown[0]].error(message)
    return grades


def _read_judgements(path: Path) -> Iterator[tuple[Line, str, str, str]]:
    """Yield the turn, the passage and the score of each line."""
    columns = 0
    for line in read_lines(path):
        row = split_columns(line.text)
        if not columns and [name.lower().replace("_", "-") for name in row] == _HEADER:
            columns = len(row)
            continue
        columns = columns or (len(row) if len(row) in (3, 4) else 3)
        if len(row) != columns:
            names = "query-id, corpus-id, score" if columns == 3 else "query, 0, passage, grade"
            commas = ": put tabs in the place of the commas" if "," in row[0] else ""
            raise line.error(f"there must be {columns} columns ({names}), not {len(row)}{commas}")
        if columns == 4 or "\t" not in line.text:
            row = [*map(decode_id, row)]
        yield line, row[0], row[-2], row[-1]


def _read_grade(score: str, line: Line) -> int:
    if not _INTEGER.fullmatch(score):
        raise line.error(f"the score must be an integer, not {brief(score)}")
    if abs(grade := int(score)) > _HIGHEST:
        raise line.error(f"the score must be between -{_HIGHEST} and {_HIGHEST}, not {grade}")
    return grade


_FIELDS = ("text", "title", "url", "metadata")
_CODE = [Path(__file__)] + [Path(str(module.__file__)) for module in (rows, row_files, user_files)]


def read_passages(path: Path, columns: Columns | None = None) -> Iterator[Passage]:
    """Stream the passages of a file; only their ids are kept in memory.

    A passage may have an empty text, since published corpora have some (BEIR's FiQA) and their ids
    count.

    Args:
        path: JSONL, a JSON array, CSV, TSV or Parquet.
        columns: the fields `id`, `text`, `title` and `url` whose columns have other names.

    Raises:
        DataError: the file cannot be read, a line is no passage, an id occurs twice, or there is no
            passage.
    """
    return make_passages(read_rows(path, columns), path)


def make_passages(rows: Iterable[Row], path: Path) -> Iterator[Passage]:
    """Stream the passages of the rows of a file or a folder. Raises DataError as `read_passages`
    does.
    """
    empty = True
    for passage_id, row in with_ids(rows, "passage", lambda row: row.require_id("_id", "id")):
        yield _read_passage(passage_id, row)
        empty = False
    if empty:
        raise DataError("this corpus holds no passages", path=path)


def fingerprint_corpus(path: Path, columns: Columns | None = None) -> str:
    """A hash of a corpus file and of the code that reads it, for indexes. Raises DataError where it
    cannot be read.
    """
    check_is_file(path)
    try:
        content = _hash_current(path)
    except OSError as error:
        raise DataError(f"this file cannot be read: {error}", path=path) from error
    return digest([content, *map(file_hash, _CODE), *sorted((columns or {}).items())])


def hash_content(path: Path) -> str:
    """A hash of a file's bytes; empty for a file that is missing or unreadable, which is for
    `check` to report.
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
