"""Recorded rankings, in TREC's six columns or as JSONL, checked and put in order."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

from convrag import DataError, Passage
from convrag.sdk.jsonl import Line, data_suffix, list_files, read_lines

SUFFIXES = (".jsonl", ".trec")


class Rankings:
    """The ranking of each turn, as recorded in a file or in a folder of *.jsonl and *.trec files.

    `passages` holds the passages whose texts were recorded too. Texts are kept once, however many turns show them.

    Raises:
        DataError: a file is missing or broken, naming the line; or two rankings claim one turn.
    """

    def __init__(self, path: Path) -> None:
        self.passages: dict[str, Passage] = {}
        self._rows: dict[str, dict[str, tuple[float, int]]] = {}
        self._files: dict[str, Path] = {}
        for file in list_files(path, *SUFFIXES):
            add = self._add_record if data_suffix(file) == ".jsonl" else self._add_trec
            for line in read_lines(file):
                add(line)
        if not self._rows:
            raise DataError("it holds no ranking", path=path)
        self._ordered = {turn_id: _in_order(rows) for turn_id, rows in self._rows.items()}
        del self._rows

    def of(self, turn_id: str) -> list[tuple[str, float]]:
        """A turn's (passage id, score), best first: by score, then recorded rank, then id; none for an unknown turn."""
        return self._ordered.get(turn_id, [])

    def without_text(self) -> frozenset[str]:
        """The ids of the passages whose texts were not recorded."""
        ranked = (passage_id for ranking in self._ordered.values() for passage_id, _ in ranking)
        return frozenset(passage_id for passage_id in ranked if passage_id not in self.passages)

    def _add_trec(self, line: Line) -> None:
        columns = line.text.split()
        if len(columns) != 6:
            raise line.error(f"a TREC run has six columns (turn Q0 passage rank score tag); here are {len(columns)}")
        turn_id, _, passage_id, rank, score, _ = columns
        self._claim(turn_id, line)
        try:
            self._add(turn_id, passage_id, float(score), int(rank), line)
        except ValueError as error:
            raise line.error(f"rank {rank!r} and score {score!r} must be numbers") from error

    def _add_record(self, line: Line) -> None:
        row = line.json()
        turn_id, contexts = row.get("turn_id"), row.get("contexts")
        if not isinstance(turn_id, str) or not isinstance(contexts, list):
            raise line.error('a ranking needs "turn_id" (a string) and "contexts" (a list of passages)')
        if turn_id in self._files:
            raise line.error(f"turn {turn_id!r} has a ranking already, in {self._files[turn_id]}")
        self._claim(turn_id, line)
        for rank, context in enumerate(contexts, start=1):
            passage, score = _context(context, line)
            self._add(turn_id, passage.id, score, rank, line)
            if passage.text:
                self.passages.setdefault(passage.id, passage)

    def _claim(self, turn_id: str, line: Line) -> None:
        """A turn belongs to the file where it was first seen: two runs in a folder must not blend into one."""
        if self._files.setdefault(turn_id, line.path) != line.path:
            raise line.error(f"turn {turn_id!r} has a ranking already, in {self._files[turn_id]}")
        self._rows.setdefault(turn_id, {})

    def _add(self, turn_id: str, passage_id: str, score: float, rank: int, line: Line) -> None:
        if not isfinite(score):
            raise line.error(f"the score of passage {passage_id!r} is {score}, which has no place in an order")
        if passage_id in self._rows[turn_id]:
            raise line.error(f"passage {passage_id!r} is ranked twice for turn {turn_id!r}")
        self._rows[turn_id][passage_id] = (score, rank)


def _context(context: Any, line: Line) -> tuple[Passage, float]:
    fields = context if isinstance(context, dict) else {}
    passage_id, score = fields.get("id"), fields.get("score")
    if not isinstance(passage_id, str) or isinstance(score, bool) or not isinstance(score, int | float):
        raise line.error('each of "contexts" needs "id" (a string) and "score" (a number)')
    return Passage(passage_id, _text(fields, "text"), _text(fields, "title"), _text(fields, "url")), float(score)


def _text(fields: dict[str, Any], name: str) -> str:
    return str(fields.get(name) or "")


def _in_order(rows: dict[str, tuple[float, int]]) -> list[tuple[str, float]]:
    ordered = sorted(rows, key=lambda passage_id: (-rows[passage_id][0], rows[passage_id][1], passage_id))
    return [(passage_id, rows[passage_id][0]) for passage_id in ordered]
