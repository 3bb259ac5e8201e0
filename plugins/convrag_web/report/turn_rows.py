"""A turn as a report keeps it: the record, with numbers for its passages; each passage stands in
the report once.
"""

from __future__ import annotations

import gzip
from array import array
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Any, NamedTuple

from convrag import Passage, TurnRecord
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.sentences import remove_citations

_REPEATED = (
    "turn_id",
    "conversation_id",
    "domain",
    "turn",
    "original_query",
    "rewritten_query",
    "labels",
    "attempt",
)
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
        find_passages: looks up passages by a domain and ids, for relevant ones that were not
            retrieved.
    """

    def __init__(self, pool: PassagePool, find_passages: FindPassages) -> None:
        self._pool = pool
        self._find_passages = find_passages
        self._conversation: tuple[str, str] | None = None
        self._earlier: dict[str, int] = {}
        self._texts: dict[int, str] = {}

    def pack(self, record: TurnRecord, unsupported: Sequence[tuple[int, int]] = ()) -> PackedTurn:
        """Pack the record of a turn, and the parts of its answer that its passages do not support."""
        if (place := (record.domain, record.conversation_id)) != self._conversation:
            self._conversation, self._earlier, self._texts = place, {}, {}
        fields = record.to_dict()
        numbers = self._add_passages(fields)
        cited = {
            name: self._earlier[name]
            for name in fields["citations"]
            if name in self._earlier.keys() - numbers
        }
        packed: dict[str, Any] = {
            name: value for name, value in fields.items() if name not in _REPEATED and value
        }
        packed["contexts"] = [[numbers[hit["id"]], hit["score"]] for hit in fields["contexts"]]
        packed["evidence"] = [
            self._pack_item(item, numbers[item["id"]]) for item in fields["evidence"]
        ]
        packed["prompt"] = [
            [each["role"], self._split(each["content"])] for each in fields["prompt"]
        ]
        packed["missed"] = missed = self._find_missed(record)
        packed["earlier"] = cited
        packed |= {"unsupported": unsupported} if unsupported else {}
        self._earlier |= {item["id"]: numbers[item["id"]] for item in fields["evidence"]}
        self._forget()
        split = [text for _, text in packed["prompt"] if isinstance(text, list)]
        sent = {part for parts in split for part in parts if isinstance(part, int)}
        return PackedTurn(
            format_row(packed),
            array("I", {*numbers.values(), *missed.values(), *cited.values(), *sent}),
        )

    def _add_passages(self, fields: Mapping[str, Any]) -> dict[str, int]:
        """Add the passages of a turn to the pool. Returns id -> number."""
        numbers: dict[str, int] = {}
        for passage in (*fields["contexts"], *fields["evidence"]):
            if passage["id"] not in numbers:
                number = numbers[passage["id"]] = self._pool.add(passage)
                self._texts[number] = passage["text"]
        return numbers

    def _find_missed(self, record: TurnRecord) -> dict[str, int]:
        """Find the places in the pool of relevant passages that were not retrieved, as far as their
        texts are known.
        """
        missed = list(list_missed(record))
        found = self._find_passages(record.domain, missed) if missed else ()
        return {each.id: self._pool.add(asdict(each)) for each in found}

    def _pack_item(self, item: Mapping[str, Any], number: int) -> list[Any]:
        """Pack a passage of the evidence: its number in the answer, its place in the pool, hint,
        and the text shown.
        """
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
        found = relevant - sum(1 for _ in list_missed(record))
        cost = round(sum(usage.cost_usd for usage in record.usage.values()), 6)
        values: dict[str, Any] = {"conversation": record.conversation_id, "domain": record.domain}
        values |= {
            "number": record.number,
            "question": record.original_query,
            "failed": int(bool(record.error)),
        }
        values |= {"fell_back": sorted(record.fallbacks), "relevant": relevant, "found": found}
        values |= dict(zip(("held", "said"), _share_reference(record), strict=True))
        values |= {"seconds": round(sum(record.timings.values()), _DIGITS), "cost": cost}
        for name, value in values.items():
            self._columns.setdefault(name, []).append(value)
        rounded = {name: round(value, _DIGITS) for name, value in scores.items()}
        _append(self._scores, rounded, len(self.turns))
        _append(self._labels, dict(record.labels), len(self.turns))
        self.turns.append(record.turn_id)

    def to_data(self) -> dict[str, Any]:
        """Return the columns. A turn without a label or a score has None in its column."""
        return {"turn": self.turns, **self._columns, "labels": self._labels, "scores": self._scores}


def _share_reference(record: TurnRecord) -> tuple[float | None, float | None]:
    """The parts of the reference answer's content words in the retrieved passages, and in the
    answer.

    None where there is no reference, or no answer.
    """
    wanted = find_stems(record.reference)
    if not wanted or not record.answer.text:
        return None, None
    held = frozenset().union(*(find_stems(hit.passage.text) for hit in record.hits))
    said = find_stems(remove_citations(record.answer.text))
    return round(len(wanted & held) / len(wanted), _DIGITS), round(
        len(wanted & said) / len(wanted), _DIGITS
    )


def _append(columns: dict[str, list[Any]], values: Mapping[str, Any], length: int) -> None:
    for name in values:
        columns.setdefault(name, [None] * length)
    for name, column in columns.items():
        column.append(values.get(name))


CHUNK = 250
"""Records, or passages, that are packed together: a turn opens at once, and repeated words still
cost little.
"""

_LEVEL = 5


def format_row(value: Any) -> bytes:
    """Format a value as JSON in UTF-8. Half a surrogate pair is written as JSON does it."""
    return format_json(value).encode("utf-8", "backslashreplace")


def pack_rows(rows: Iterable[bytes]) -> str:
    """Pack formatted values as a list: base64 of gzip."""
    return pack_bytes(b"[" + b",".join(rows) + b"]")


def pack_bytes(text: bytes) -> str:
    """Pack bytes: base64 of gzip. Equal bytes give equal texts."""
    return b64encode(gzip.compress(text, _LEVEL, mtime=0)).decode("ascii")


_FIELDS = ("id", "title", "text", "url", "metadata")


class PassagePool:
    """Numbers passages from 0, and packs their texts in chunks.

    Args:
        most: stop packing when the chunks are longer than this, in characters: they will not be
            used.
    """

    def __init__(self, most: int) -> None:
        self.sizes = array("I")
        """The bytes of each passage before packing."""
        self.packed = 0
        """The characters of all chunks so far."""
        self.unpacked = 0
        """What they were before packing, in bytes."""
        self._most = most
        self._numbers: dict[bytes, int] = {}
        self._chunks: list[str] = []
        self._waiting: list[bytes] = []

    def add(self, passage: Mapping[str, Any]) -> int:
        """Add a passage (id, title, text, url, metadata), unless it is there. Returns its number."""
        row = format_row([passage.get(name) or "" for name in _FIELDS])
        key = blake2b(row, digest_size=16).digest()
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self.sizes):
            self.sizes.append(len(row))
            self._pack(row)
        return number

    def list_chunks(self) -> list[str]:
        """Return the packed chunks, each of CHUNK passages."""
        if self._waiting:
            self._pack_chunk()
        return self._chunks

    def release(self) -> None:
        """Forget the chunks."""
        self._chunks.clear()

    def _pack(self, row: bytes) -> None:
        self._waiting.append(row)
        if len(self._waiting) == CHUNK:
            self._pack_chunk()

    def _pack_chunk(self) -> None:
        if self.packed <= self._most:
            self._chunks.append(pack_rows(self._waiting))
            self.packed += len(self._chunks[-1])
            self.unpacked += sum(map(len, self._waiting))
        self._waiting.clear()


def split_by_passages(text: str, passages: Iterable[tuple[int, str]]) -> str | list[str | int]:
    """Replace the texts of passages within a text by their numbers.

    split_by_passages("[1] Ice floats. Why?", [(7, "Ice floats.")]) gives ["[1] ", 7, " Why?"]

    Returns:
        The text itself where none of them is in it.
    """
    within = [
        (number, passage)
        for number, passage in passages
        if len(passage) >= _SHORTEST and passage in text
    ]
    parts: list[str | int] = [text]
    for number, passage in within:
        parts = [piece for part in parts for piece in _split_part(part, number, passage)]
    return parts if within else text


_SHORTEST = 40
"""Characters of a text that is worth a reference."""


def _split_part(part: str | int, number: int, passage: str) -> Iterator[str | int]:
    if isinstance(part, int) or passage not in part:
        yield part
        return
    first, *others = part.split(passage)
    if first:
        yield first
    for other in others:
        yield number
        if other:
            yield other
