"""Recorded rankings and rewrites, read from users' files and checked; and a hash of such files."""

from collections.abc import Container
from math import isfinite
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from convrag import DataError, Passage, Query
from convrag.sdk.identity import digest, file_hash
from convrag.sdk.jsonl import Line, data_suffix, list_files, read_lines, read_lines_in
from convrag.sdk.trec import read_rank
from convrag.sdk.utterances import get_last_utterance

RANKING_SUFFIXES = (".jsonl", ".trec")
REWRITE_SUFFIX = ".jsonl"


class RecordedRankings:
    """The ranking of each turn; `passages` holds the passages whose texts were recorded too, by id.

    Args:
        path: a file, or a folder of *.jsonl and *.trec files. A JSONL file has a record in each line, any other a TREC
            run's six columns.
        known: ids of passages that a TREC run has as they stand (see `convrag.sdk.trec`).

    Raises:
        DataError: a file is missing or invalid, naming the line; or a turn has two rankings.
    """

    def __init__(self, path: Path, known: Container[str] = ()) -> None:
        self.passages: dict[str, Passage] = {}
        self._known = known
        self._rows: dict[str, dict[str, tuple[float, int]]] = {}
        self._files: dict[str, Path] = {}
        for file in list_files(path, *RANKING_SUFFIXES):
            add = self._add_record if data_suffix(file) == ".jsonl" else self._add_trec
            for line in read_lines(file):
                add(line)
        if not self._rows:
            raise DataError("it holds no ranking", path=path)
        self._rankings = {turn_id: _sort_ranking(rows) for turn_id, rows in self._rows.items()}
        del self._rows

    def find_ranking(self, turn_id: str) -> list[tuple[str, float]]:
        """A turn's (passage id, score), best first: by score, then rank, then id; empty for an unknown turn."""
        return self._rankings.get(turn_id, [])

    def ids_without_text(self) -> frozenset[str]:
        """The ids of the ranked passages whose texts were not recorded."""
        ranked = (passage_id for ranking in self._rankings.values() for passage_id, _ in ranking)
        return frozenset(passage_id for passage_id in ranked if passage_id not in self.passages)

    def _add_trec(self, line: Line) -> None:
        turn_id, passage_id, rank, score = read_rank(line, self._known)
        self._assign_file(turn_id, line)
        try:
            self._add(turn_id, passage_id, score, int(rank), line)
        except ValueError as error:
            raise line.error(f"the rank {brief(rank)} is no whole number") from error

    def _add_record(self, line: Line) -> None:
        row = line.json()
        turn_id, contexts = row.get("turn_id"), row.get("contexts")
        if not isinstance(turn_id, str) or not isinstance(contexts, list):
            raise line.error('a ranking needs "turn_id" (a string) and "contexts" (a list of passages)')
        self._assign_file(turn_id, line, is_whole=True)
        for rank, context in enumerate(contexts, start=1):
            passage, score = _read_context(context, line)
            self._add(turn_id, passage.id, score, rank, line)
            if passage.text:
                self.passages.setdefault(passage.id, passage)

    def _assign_file(self, turn_id: str, line: Line, *, is_whole: bool = False) -> None:
        """Raise DataError for a turn that was ranked before: two runs in a folder must not become one.

        Args:
            turn_id: the turn.
            line: where a part of its ranking stands, in one file with the other parts.
            is_whole: whether the line has all of the ranking.
        """
        known = self._files.get(turn_id)
        if known is not None and (is_whole or known != line.path):
            raise line.error(f"turn {turn_id!r} has a ranking already, in {known}")
        self._files[turn_id] = line.path
        self._rows.setdefault(turn_id, {})

    def _add(self, turn_id: str, passage_id: str, score: float, rank: int, line: Line) -> None:
        if not isfinite(score):
            raise line.error(f"the score of passage {passage_id!r} is {score}, which has no place in an order")
        if passage_id in self._rows[turn_id]:
            raise line.error(f"passage {passage_id!r} is ranked twice for turn {turn_id!r}")
        self._rows[turn_id][passage_id] = (score, rank)


def read_rewrites(path: Path) -> dict[str, tuple[Query, ...]]:
    """Turn id -> recorded queries, from a BEIR file of queries or a folder of such files.

    A line's `queries` (a list of `text` and `weight`, as a run writes them) count; where a line has none, its `text`
    is the only query.

    Raises:
        DataError: a file is missing or invalid, naming the line; a turn has two rewrites, or there is none at all.
    """
    rewrites: dict[str, tuple[Query, ...]] = {}
    places: dict[str, Line] = {}
    for line in read_lines_in(path, REWRITE_SUFFIX):
        row = line.json()
        turn_id, text = row.get("_id"), row.get("text")
        if not isinstance(turn_id, str) or not isinstance(text, str):
            raise line.error('a rewrite needs "_id" (the turn) and "text", both of them strings')
        if first := places.get(turn_id):
            raise line.error(f"turn {turn_id!r} has a rewrite already, in {first.path}, line {first.number}")
        rewrites[turn_id] = _read_queries(row.get("queries"), line) or (Query(get_last_utterance(text)),)
        places[turn_id] = line._replace(text="")
    if not rewrites:
        raise DataError("it holds no rewrite", path=path)
    return rewrites


def hash_files(path: Path, *suffixes: str) -> str:
    """A hash of a file, or of the names and contents of a folder's files with these suffixes; empty where none is."""
    try:
        return digest([[file.name, file_hash(file)] for file in list_files(path, *suffixes)])
    except DataError:
        return ""


def _read_queries(given: Any, line: Line) -> tuple[Query, ...]:
    """The queries of a line; none where it has no list of them."""
    if not isinstance(given, list | None):
        raise line.error('"queries" must be a list of objects with "text" and "weight"')
    queries = []
    for each in given or ():
        fields = each if isinstance(each, dict) else {}
        text, weight = fields.get("text"), _to_float(fields.get("weight", 1.0))
        if not isinstance(text, str) or weight is None or not isfinite(weight):
            raise line.error('each of "queries" needs "text" (a string), and its "weight" must be a number')
        search, source = fields.get("search", "any"), fields.get("source", "")
        if search not in ("any", "lexical", "dense") or not isinstance(source, str):
            raise line.error('in "queries", "search" must be any, lexical or dense, and "source" a string')
        queries.append(Query(text, weight, search=search, source=source))
    return tuple(queries)


def _to_float(value: Any) -> float | None:
    """A number of a JSON file; None for what is no number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _read_context(context: Any, line: Line) -> tuple[Passage, float]:
    fields = context if isinstance(context, dict) else {}
    passage_id, score = fields.get("id"), _to_float(fields.get("score"))
    if not isinstance(passage_id, str) or score is None:
        raise line.error('each of "contexts" needs "id" (a string) and "score" (a number)')
    text, title, url = (str(fields.get(name) or "") for name in ("text", "title", "url"))
    return Passage(passage_id, text, title, url), score


def _sort_ranking(rows: dict[str, tuple[float, int]]) -> list[tuple[str, float]]:
    ordered = sorted(rows, key=lambda passage_id: (-rows[passage_id][0], rows[passage_id][1], passage_id))
    return [(passage_id, rows[passage_id][0]) for passage_id in ordered]
