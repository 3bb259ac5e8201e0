"""Files of qrels: judgements of relevance."""

import re
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from reprlib import repr as brief
from typing import NamedTuple

from convrag import Conversation, DataError
from convrag.sdk.data.jsonl import Line, read_lines
from convrag.sdk.data.trec import decode_id, split_columns

_HEADING = ["query-id", "corpus-id", "score"]
_HIGHEST = 1000
"""The highest grade: trec_eval takes a second for 10 million, and measures 32 bits at most."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_COLUMN_NAMES = {3: "query-id, corpus-id, score", 4: "query, 0, passage, grade"}


class _Judgement(NamedTuple):
    line: Line
    turn: str
    passage: str
    score: str


def read_qrels(
    path: Path | None, conversations: Iterable[Conversation]
) -> dict[str, dict[str, int]]:
    """Read the qrels of a file: turn id -> passage id -> grade of relevance.

    Args:
        path: between tabs or blanks: query-id, corpus-id, score, with or without this heading; or
            query, 0, passage, grade. Ids of the latter, and any between blanks, may be
            percent-encoded (see `convrag.sdk.data.trec`). None gives no qrels.
        conversations: whose turns may be judged.

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
        turn_grades = grades.setdefault(turn, {})
        if turn_grades.setdefault(passage, grade) != grade:
            raise line.error(
                f"passage {passage!r} is judged twice for {turn!r}, with different scores"
            )
        first_lines.setdefault(turn, line)
    if not grades:
        raise DataError("this file holds no judgements", path=path)
    _check_turns(first_lines, conversations)
    return grades


def find_judgement(path: Path, passages: Container[str]) -> tuple[Line, str]:
    """Return the first line that judges one of these passages, and the passage.

    Raises LookupError where there is none.
    """
    for judgement in _read_judgements(path):
        if judgement.passage in passages:
            return judgement.line, judgement.passage
    raise LookupError(f"{path} judges none of these passages")


def _check_turns(first_lines: dict[str, Line], conversations: Iterable[Conversation]) -> None:
    """Raise DataError where a judged turn is in no conversation."""
    known = {turn.id for conversation in conversations for turn in conversation.turns}
    unknown = [turn for turn in first_lines if turn not in known]
    if unknown:
        raise first_lines[unknown[0]].error(
            f"{len(unknown)} of {len(first_lines)} judged turns are in no conversation, for "
            f"instance {unknown[0]!r}; one that is there: {min(known, default='')!r}"
        )


def _read_judgements(path: Path) -> Iterator[_Judgement]:
    columns = 0
    for line in read_lines(path):
        row = split_columns(line.text)
        if columns == 0:  # the first line
            names = [name.lower().replace("_", "-") for name in row]
            columns = len(row) if len(row) in _COLUMN_NAMES else 3
            if names == _HEADING:
                continue
        if len(row) != columns:
            raise line.error(_describe_columns(row, columns))
        if columns == 4 or "\t" not in line.text:
            row = [decode_id(column) for column in row]
        *_, passage, score = row
        yield _Judgement(line, row[0], passage, score)


def _describe_columns(row: list[str], columns: int) -> str:
    """Say that a row has another number of columns."""
    advice = ": put tabs in the place of the commas" if "," in row[0] else ""
    names = _COLUMN_NAMES[columns]
    return f"there must be {columns} columns ({names}), not {len(row)}{advice}"


def _read_grade(score: str, line: Line) -> int:
    if not _INTEGER.fullmatch(score):
        raise line.error(f"the score must be an integer, not {brief(score)}")
    grade = int(score)
    if abs(grade) > _HIGHEST:
        raise line.error(f"the score must be between -{_HIGHEST} and {_HIGHEST}, not {grade}")
    return grade
