"""Turns as a report stores them: records with numbers for their passages, and the list of turns."""

from __future__ import annotations

import gzip
from array import array
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
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
"""Fields that follow from others, or are in the list of turns."""

_RECENT = 200
"""The number of passages of a conversation that later prompts are expected to repeat."""

FindPassages = Callable[[str, Sequence[str]], Sequence[Passage]]


class PackedTurn(NamedTuple):
    """A record as JSON in UTF-8, and the numbers of the passages in it."""

    row: bytes
    passages: array[int]


class TurnPacker:
    """Packs the records of a run, which come conversation by conversation.

    Args:
        pool: the passages of the report.
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
        """Pack the record of a turn.

        Args:
            record: the record.
            unsupported: the parts of its answer that its passages do not support.
        """
        self._begin_conversation(record)
        fields = record.to_dict()
        numbers = self._add_passages(fields)
        missed = self._find_missed(record)
        cited = self._find_cited_earlier(fields["citations"], numbers)
        prompt = [[each["role"], self._split(each["content"])] for each in fields["prompt"]]
        packed: dict[str, Any] = {
            name: value for name, value in fields.items() if name not in _REPEATED and value
        }
        packed["contexts"] = [[numbers[hit["id"]], hit["score"]] for hit in fields["contexts"]]
        packed["evidence"] = [
            self._pack_item(item, numbers[item["id"]]) for item in fields["evidence"]
        ]
        packed["prompt"] = prompt
        packed["missed"] = missed
        packed["earlier"] = cited
        if unsupported:
            packed["unsupported"] = unsupported
        self._earlier |= {item["id"]: numbers[item["id"]] for item in fields["evidence"]}
        self._forget_old()
        used = {*numbers.values(), *missed.values(), *cited.values(), *_list_numbers(prompt)}
        return PackedTurn(format_row(packed), array("I", used))

    def _begin_conversation(self, record: TurnRecord) -> None:
        """Forget the passages of the last conversation, unless the turn belongs to it."""
        conversation = (record.domain, record.conversation_id)
        if conversation != self._conversation:
            self._conversation = conversation
            self._earlier = {}
            self._texts = {}

    def _find_cited_earlier(
        self, citations: Iterable[str], numbers: Mapping[str, int]
    ) -> dict[str, int]:
        """Return id -> number of the cited passages that only earlier turns have shown."""
        return {
            name: self._earlier[name]
            for name in citations
            if name in self._earlier and name not in numbers
        }

    def _add_passages(self, fields: Mapping[str, Any]) -> dict[str, int]:
        """Add the passages of a turn to the pool, and return id -> number."""
        numbers: dict[str, int] = {}
        for passage in (*fields["contexts"], *fields["evidence"]):
            id = passage["id"]
            if id not in numbers:
                numbers[id] = self._pool.add(passage)
                self._texts[numbers[id]] = passage["text"]
        return numbers

    def _find_missed(self, record: TurnRecord) -> dict[str, int]:
        """Return id -> number of relevant passages that were not retrieved, if they are known."""
        missed = list_missed(record)
        if not missed:
            return {}
        found = self._find_passages(record.domain, missed)
        return {each.id: self._pool.add(asdict(each)) for each in found}

    def _pack_item(self, item: Mapping[str, Any], number: int) -> list[Any]:
        """Pack a passage of the evidence, with its number in the pool.

        The row has its number in the answer, its number in the pool, whether it is a hint and, if
        the model saw another text than the passage's, that text.
        """
        row = [item["number"], number, int(item["hint"])]
        if "shown" in item:
            row.append(self._split(item["shown"]))
        return row

    def _split(self, text: str) -> str | list[str | int]:
        return split_by_passages(text, self._texts.items())

    def _forget_old(self) -> None:
        """Forget all texts but those of the latest evidence, which prompts repeat."""
        self._earlier = dict(list(self._earlier.items())[-_RECENT:])
        self._texts = {number: self._texts[number] for number in self._earlier.values()}


def _list_numbers(prompt: Iterable[Sequence[Any]]) -> list[int]:
    """List the numbers of the passages in the messages of a prompt, see `split_by_passages`."""
    numbers = []
    for _, content in prompt:
        if isinstance(content, list):
            numbers += [part for part in content if isinstance(part, int)]
    return numbers


def list_missed(record: TurnRecord) -> list[str]:
    """List the ids of relevant passages that were not retrieved."""
    retrieved = {hit.passage.id for hit in record.hits}
    return [id for id, grade in record.gold.items() if grade > 0 and id not in retrieved]


_DIGITS = 4


class TurnIndex:
    """The list of turns, as columns."""

    def __init__(self) -> None:
        self.turns: list[str] = []
        self._columns: dict[str, list[Any]] = {}
        self._labels: dict[str, list[Any]] = {}
        self._scores: dict[str, list[float | None]] = {}

    def add(self, record: TurnRecord, scores: Mapping[str, float]) -> None:
        """Add a turn with its scores."""
        relevant = sum(grade > 0 for grade in record.gold.values())
        in_passages, in_answer = _share_reference(record)
        values: dict[str, Any] = {
            "conversation": record.conversation_id,
            "domain": record.domain,
            "number": record.number,
            "question": record.original_query,
            "failed": int(bool(record.error)),
            "fell_back": sorted(record.fallbacks),
            "relevant": relevant,
            "found": relevant - len(list_missed(record)),
            "held": in_passages,
            "said": in_answer,
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


def _share_reference(record: TurnRecord) -> tuple[float | None, float | None]:
    """Return the shares of the reference's content words in the passages, and in the answer.

    None if there is no reference, or no answer.
    """
    wanted = find_stems(record.reference)
    if not wanted or not record.answer.text:
        return None, None
    in_passages: set[str] = set()
    for hit in record.hits:
        in_passages |= find_stems(hit.passage.text)
    in_answer = find_stems(remove_citations(record.answer.text))
    return _share(wanted, in_passages), _share(wanted, in_answer)


def _share(wanted: Set[str], found: Set[str]) -> float:
    return round(len(wanted & found) / len(wanted), _DIGITS)


def _append(columns: dict[str, list[Any]], values: Mapping[str, Any], length: int) -> None:
    """Append values to their columns, which have a length, and None to the others."""
    for name in values:
        columns.setdefault(name, [None] * length)
    for name, column in columns.items():
        column.append(values.get(name))


CHUNK = 250
"""The number of records, or passages, that are packed together.

A turn still opens at once, and repeated words cost little.
"""

_COMPRESSION_LEVEL = 5


def format_row(value: Any) -> bytes:
    """Format a value as JSON in UTF-8. Half a surrogate pair is escaped."""
    return format_json(value).encode("utf-8", "backslashreplace")


def pack_rows(rows: Iterable[bytes]) -> str:
    """Pack formatted values as a list: base64 of gzip."""
    return pack_bytes(b"[" + b",".join(rows) + b"]")


def pack_bytes(text: bytes) -> str:
    """Pack bytes: base64 of gzip. Equal bytes give equal texts."""
    return b64encode(gzip.compress(text, _COMPRESSION_LEVEL, mtime=0)).decode("ascii")


_FIELDS = ("id", "title", "text", "url", "metadata")


class PassagePool:
    """Numbers passages from 0, and packs their texts in chunks.

    Args:
        limit: packing stops when the chunks are longer than this, in characters, since they will
            not be used.
    """

    def __init__(self, limit: int) -> None:
        self.sizes = array("I")
        """The bytes of each passage before packing."""
        self.packed = 0
        """The characters of all chunks so far."""
        self.unpacked = 0
        """The bytes of all chunks so far before packing."""
        self._limit = limit
        self._numbers: dict[bytes, int] = {}
        self._chunks: list[str] = []
        self._waiting: list[bytes] = []

    def add(self, passage: Mapping[str, Any]) -> int:
        """Add a passage (id, title, text, url, metadata) unless it is there; return its number."""
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
        if self.packed <= self._limit:
            self._chunks.append(pack_rows(self._waiting))
            self.packed += len(self._chunks[-1])
            self.unpacked += sum(map(len, self._waiting))
        self._waiting.clear()


_MIN_LENGTH = 40
"""The characters of a passage that is worth a reference."""


def split_by_passages(text: str, passages: Iterable[tuple[int, str]]) -> str | list[str | int]:
    """Replace the texts of passages within a text by their numbers.

    With a passage 7 whose text is "Ice floats.", "[1] Ice floats. Why?" gives ["[1] ", 7, " Why?"].

    Returns:
        The text itself if none of them is in it.
    """
    parts: list[str | int] = [text]
    for number, passage in passages:
        if len(passage) >= _MIN_LENGTH and passage in text:
            parts = [piece for part in parts for piece in _split_part(part, number, passage)]
    return text if parts == [text] else parts


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
