"""Qrels (relevance judgements), in BEIR's three columns or TREC's four."""

import re
from collections.abc import Collection
from pathlib import Path
from reprlib import repr as brief

from convrag import DataError
from convrag.sdk.jsonl import Line, read_lines

_HEADER = ["query-id", "corpus-id", "score"]
_HIGHEST = 1000  # trec_eval takes a second for 10 million, and measures nothing beyond 32 bits
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


class Qrels:
    """The qrels of a file.

    Args:
        path: between tabs or blanks: query-id, corpus-id, score, with or without this heading; or query, 0, passage,
            grade.

    Attributes:
        grades: turn id -> passage id -> grade of relevance.

    Raises:
        DataError: a row has other columns, a passage has two grades for one turn, or there is no row.
    """

    def __init__(self, path: Path) -> None:
        self.grades: dict[str, dict[str, int]] = {}
        self._first_lines: dict[str, Line] = {}
        columns = 0
        for line in read_lines(path):
            row = _split_columns(line.text)
            if not columns and [name.lower().replace("_", "-") for name in row] == _HEADER:
                columns = len(row)
                continue
            columns = columns or (len(row) if len(row) in (3, 4) else 3)
            if len(row) != columns:
                names = "query-id, corpus-id, score" if columns == 3 else "query, 0, passage, grade"
                raise line.error(f"there must be {columns} columns ({names}), not {len(row)}")
            self._add(row[0], row[-2], row[-1], line)
        if not self.grades:
            raise DataError("this file holds no judgements", path=path)

    def require_turns(self, turn_ids: Collection[str]) -> None:
        """Raise DataError where a judged turn is none of these."""
        unknown = [turn for turn in self.grades if turn not in turn_ids]
        if unknown:
            count = f"{len(unknown)} of {len(self.grades)} judged turns"
            raise self._first_lines[unknown[0]].error(f"{count} are in no conversation, for instance {unknown[0]!r}")

    def _add(self, turn: str, passage: str, score: str, line: Line) -> None:
        if not turn or not passage:
            raise line.error("an id is empty")
        if not _INTEGER.fullmatch(score):
            raise line.error(f"the score must be an integer, not {brief(score)}")
        if abs(grade := int(score)) > _HIGHEST:
            raise line.error(f"the score must be between -{_HIGHEST} and {_HIGHEST}, not {grade}")
        if self.grades.setdefault(turn, {}).setdefault(passage, grade) != grade:
            raise line.error(f"passage {passage!r} is judged twice for {turn!r}, with different scores")
        self._first_lines.setdefault(turn, line)


def _split_columns(line: str) -> list[str]:
    """The columns of a line: between tabs, or where there is no tab, between blanks (as TREC's tools write them)."""
    return [column.strip() for column in line.split("\t")] if "\t" in line else line.split()
