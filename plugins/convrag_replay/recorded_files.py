"""Reads files of recorded rankings and rewrites, and hashes them."""

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as brief
from typing import Literal

from convrag import ConfigError, DataError, Passage, Query
from convrag.sdk.data.jsonl import Line, data_suffix, list_files, read_lines, read_lines_in
from convrag.sdk.data.trec import read_rank
from convrag.sdk.data.utterances import get_last_utterance
from convrag.sdk.identity import digest, file_hash
from convrag.sdk.search.filters import Filter, parse_filter

RANKING_SUFFIXES = (".jsonl", ".trec")
REWRITE_SUFFIX = ".jsonl"


@dataclass(frozen=True)
class _ContextRow:
    id: str
    score: float
    text: str | None = ""
    title: str | None = ""
    url: str | None = ""


@dataclass(frozen=True)
class _RankingRow:
    turn_id: str
    contexts: list[_ContextRow]


@dataclass(frozen=True)
class _QueryRow:
    text: str
    weight: float = 1.0
    search: Literal["any", "lexical", "dense"] = "any"
    source: str = ""
    filter: str = ""


@dataclass(frozen=True)
class _RewriteRow:
    _id: str
    text: str
    queries: list[_QueryRow] | None = None


class RecordedRankings:
    """The ranking of each turn. `passages` has those whose texts were recorded, too, by id.

    Args:
        path: a file, or a folder of *.jsonl and *.trec files. A JSONL file has a record in each
            line, any other a TREC run's six columns.
        known: ids of passages that a TREC run writes unchanged (see `convrag.sdk.data.trec`).

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
        """Return a turn's (passage id, score), best first; empty for an unknown turn.

        They are sorted by score, then rank, then id.
        """
        return self._rankings.get(turn_id, [])

    def ids_without_text(self) -> frozenset[str]:
        """Return the ids of the ranked passages whose texts were not recorded."""
        ranked = {passage_id for ranking in self._rankings.values() for passage_id, _ in ranking}
        return frozenset(ranked - self.passages.keys())

    def _add_trec(self, line: Line) -> None:
        turn_id, passage_id, rank, score = read_rank(line, self._known)
        self._assign_file(turn_id, line)
        try:
            self._add(turn_id, passage_id, score, int(rank), line)
        except ValueError as error:
            raise line.error(f"the rank {brief(rank)} is not a whole number") from error

    def _add_record(self, line: Line) -> None:
        row = line.parse(_RankingRow, "a ranking")
        self._assign_file(row.turn_id, line, is_whole=True)
        for rank, each in enumerate(row.contexts, start=1):
            self._add(row.turn_id, each.id, each.score, rank, line)
            if each.text and each.id not in self.passages:
                passage = Passage(each.id, each.text, each.title or "", each.url or "")
                self.passages[each.id] = passage

    def _assign_file(self, turn_id: str, line: Line, *, is_whole: bool = False) -> None:
        """Note which file has a turn's ranking: two runs in a folder must not become one.

        Args:
            turn_id: the turn.
            line: a part of its ranking, in one file with the other parts.
            is_whole: whether the line has all of the ranking.

        Raises:
            DataError: the turn was ranked before.
        """
        known = self._files.get(turn_id)
        if known is not None and (is_whole or known != line.path):
            raise line.error(f"turn {turn_id!r} has a ranking already, in {known}")
        self._files[turn_id] = line.path
        self._rows.setdefault(turn_id, {})

    def _add(self, turn_id: str, passage_id: str, score: float, rank: int, line: Line) -> None:
        if passage_id in self._rows[turn_id]:
            raise line.error(f"passage {passage_id!r} is ranked twice for turn {turn_id!r}")
        self._rows[turn_id][passage_id] = (score, rank)


def read_rewrites(path: Path) -> dict[str, tuple[Query, ...]]:
    """Read recorded queries by turn id, from a BEIR file of queries or a folder of such files.

    A line's `queries` (a list of `text` and `weight`, as a run writes them) count; where a line has
    none, its `text` is the only query.

    Raises:
        DataError: a file is missing or invalid, naming the line; a turn has two rewrites, or there
            is none at all.
    """
    rewrites: dict[str, tuple[Query, ...]] = {}
    places: dict[str, str] = {}
    for line in read_lines_in(path, REWRITE_SUFFIX):
        row = line.parse(_RewriteRow, "a rewrite")
        if row._id in places:
            raise line.error(f"turn {row._id!r} has a rewrite already, in {places[row._id]}")
        rewrites[row._id] = _make_queries(row, line)
        places[row._id] = f"{line.path}, line {line.number}"
    if not rewrites:
        raise DataError("it holds no rewrite", path=path)
    return rewrites


def hash_files(path: Path, *suffixes: str) -> str:
    """Hash a file, or the names and contents of a folder's files with these suffixes.

    Empty where there is no such file.
    """
    try:
        return digest([[file.name, file_hash(file)] for file in list_files(path, *suffixes)])
    except DataError:
        return ""


def _make_queries(row: _RewriteRow, line: Line) -> tuple[Query, ...]:
    """Make the queries of a line. Raises DataError where the filter of one cannot be read."""
    if not row.queries:
        return (Query(get_last_utterance(row.text)),)
    return tuple(
        Query(
            each.text,
            each.weight,
            search=each.search,
            source=each.source,
            filter=_read_filter(each.filter, line),
        )
        for each in row.queries
    )


def _read_filter(text: str, line: Line) -> Filter | None:
    try:
        return parse_filter(text) if text else None
    except ConfigError as error:
        raise line.error(f"a query's filter: {error}") from error


def _sort_ranking(rows: dict[str, tuple[float, int]]) -> list[tuple[str, float]]:
    """Sort a turn's passages, id -> (score, rank): by score, then rank, then id."""

    def key(passage_id: str) -> tuple[float, int, str]:
        score, rank = rows[passage_id]
        return -score, rank, passage_id

    return [(passage_id, rows[passage_id][0]) for passage_id in sorted(rows, key=key)]
