"""A turn as a report keeps it: the record, with the numbers of passages in the place of their texts."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from convrag import Passage, TurnRecord
from convrag_web.report.passage_pool import PassagePool, format_row, split_by_passages

_REPEATED = ("turn_id", "conversation_id", "domain", "turn", "original_query", "rewritten_query", "labels", "attempt")
"""Fields that follow from others, or stand in the list of turns."""

_RECENT = 200  # passages of a conversation that later prompts may repeat


FindPassages = Callable[[str, Sequence[str]], Sequence[Passage]]


class PackedTurn(NamedTuple):
    """A record as JSON in UTF-8, and the numbers of the passages in it."""

    row: bytes
    passages: array[int]


class TurnPacker:
    """Packs the records of a run, which come conversation by conversation.

    Args:
        pool: has the passages.
        find_passages: looks up passages by a domain and ids, for relevant ones that were not retrieved.
    """

    def __init__(self, pool: PassagePool, find_passages: FindPassages) -> None:
        self._pool = pool
        self._find_passages = find_passages
        self._conversation: tuple[str, str] | None = None
        self._earlier: dict[str, int] = {}
        self._texts: dict[int, str] = {}

    def pack(self, record: TurnRecord) -> PackedTurn:
        """Pack the record of a turn."""
        if (place := (record.domain, record.conversation_id)) != self._conversation:
            self._conversation, self._earlier, self._texts = place, {}, {}
        fields = record.to_dict()
        numbers = self._add_passages(fields)
        cited = {name: self._earlier[name] for name in fields["citations"] if name in self._earlier.keys() - numbers}
        packed: dict[str, Any] = {name: value for name, value in fields.items() if name not in _REPEATED and value}
        packed["contexts"] = [[numbers[hit["id"]], hit["score"]] for hit in fields["contexts"]]
        packed["evidence"] = [self._pack_item(item, numbers[item["id"]]) for item in fields["evidence"]]
        packed["prompt"] = [[each["role"], self._split(each["content"])] for each in fields["prompt"]]
        packed["missed"] = missed = self._find_missed(record)
        packed["earlier"] = cited
        self._earlier |= {item["id"]: numbers[item["id"]] for item in fields["evidence"]}
        self._forget()
        split = [text for _, text in packed["prompt"] if isinstance(text, list)]
        sent = {part for parts in split for part in parts if isinstance(part, int)}
        return PackedTurn(format_row(packed), array("I", {*numbers.values(), *missed.values(), *cited.values(), *sent}))

    def _add_passages(self, fields: Mapping[str, Any]) -> dict[str, int]:
        """Add the passages of a turn to the pool. Returns id -> number."""
        numbers: dict[str, int] = {}
        for passage in (*fields["contexts"], *fields["evidence"]):
            if passage["id"] not in numbers:
                number = numbers[passage["id"]] = self._pool.add(passage)
                self._texts[number] = passage["text"]
        return numbers

    def _find_missed(self, record: TurnRecord) -> dict[str, int]:
        """Find the places in the pool of relevant passages that were not retrieved, as far as their texts are known."""
        missed = list(list_missed(record))
        found = self._find_passages(record.domain, missed) if missed else ()
        return {each.id: self._pool.add(asdict(each)) for each in found}

    def _pack_item(self, item: Mapping[str, Any], number: int) -> list[Any]:
        """Pack a passage of the evidence: its number in the answer, its place in the pool, hint, and the text shown."""
        shown = [self._split(item["shown"])] if "shown" in item else []
        return [item["number"], number, int(item["hint"]), *shown]

    def _split(self, text: str) -> str | list[str | int]:
        return split_by_passages(text, self._texts.items())

    def _forget(self) -> None:
        """Keep the texts of this conversation's latest evidence only; a prompt may repeat these."""
        self._earlier = dict(list(self._earlier.items())[-_RECENT:])
        self._texts = {number: self._texts[number] for number in self._earlier.values()}


def list_missed(record: TurnRecord) -> Iterator[str]:
    """Yield the ids of relevant passages that were not retrieved."""
    retrieved = {hit.passage.id for hit in record.hits}
    yield from (name for name, grade in record.gold.items() if grade > 0 and name not in retrieved)


_DIGITS = 4


class TurnIndex:
    """Collects the columns, turn by turn."""

    def __init__(self) -> None:
        self.turns: list[str] = []
        self._columns: dict[str, list[Any]] = {}
        self._labels: dict[str, list[Any]] = {}
        self._scores: dict[str, list[float | None]] = {}

    def add(self, record: TurnRecord, scores: Mapping[str, float]) -> None:
        """Add a turn with its scores."""
        relevant = sum(grade > 0 for grade in record.gold.values())
        values = {
            "conversation": record.conversation_id,
            "domain": record.domain,
            "number": record.number,
            "question": record.original_query,
            "failed": int(bool(record.error)),
            "fell_back": sorted(record.fallbacks),
            "relevant": relevant,
            "found": relevant - sum(1 for _ in list_missed(record)),
            "seconds": round(sum(record.timings.values()), _DIGITS),
            "cost": round(sum(usage.cost_usd for usage in record.usage.values()), 6),
        }
        for name, value in values.items():
            self._columns.setdefault(name, []).append(value)
        rounded = {name: round(value, _DIGITS) for name, value in scores.items()}
        _append(self._scores, rounded, len(self.turns))
        _append(self._labels, dict(record.labels), len(self.turns))
        self.turns.append(record.turn_id)

    def to_data(self) -> dict[str, Any]:
        """Return the columns. A turn without a label or a score has None in its column."""
        return {"turn": self.turns, **self._columns, "labels": self._labels, "scores": self._scores}


def _append(columns: dict[str, list[Any]], values: Mapping[str, Any], length: int) -> None:
    for name in values:
        columns.setdefault(name, [None] * length)
    for name, column in columns.items():
        column.append(values.get(name))
