"""The turns of runs as packed blocks, within a limit of size."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from convrag import TurnRecord
from convrag.sdk.text.support import find_unsupported
from convrag_web.report.turn_rows import (
    CHUNK,
    FindPassages,
    PassagePool,
    TurnIndex,
    TurnPacker,
    format_row,
    pack_bytes,
    pack_rows,
)

_CAUTION = 0.97
"""The share of the room that is used, since packed sizes are estimates."""

_NULL = b"null"
"""The row of a turn whose record is left out."""

Need = Callable[[str], float]
"""Turn id -> how much the turn needs a second look; lower is more urgent."""


class TurnCost(NamedTuple):
    """The cost of a turn's record.

    Args:
        need: how much the turn needs a second look; lower is more urgent.
        size: the bytes of the record.
        passages: the numbers of its passages.
    """

    need: float
    size: float
    passages: array[int]


def choose_turns(
    turns: Sequence[TurnCost], passages: Sequence[float], room: float
) -> frozenset[int]:
    """Choose the turns whose records the report has: those that need a second look most.

    Args:
        turns: all turns, in the order of the report.
        passages: the packed size of each passage, in characters.
        room: the characters for the records and their passages.

    Returns:
        The places of the chosen turns.
    """
    left = room * _CAUTION
    chosen: set[int] = set()
    chosen_passages: set[int] = set()
    for place in sorted(range(len(turns)), key=lambda place: (turns[place].need, place)):
        further = set(turns[place].passages) - chosen_passages
        left -= turns[place].size + sum(passages[number] for number in further)
        if left < 0:
            break
        chosen.add(place)
        chosen_passages |= further
    return frozenset(chosen)


@dataclass(frozen=True)
class RunTurns:
    """The turns of a run.

    Args:
        records: the records, conversation by conversation; they can be iterated several times.
        scores: turn id -> measure -> value.
        find_passages: looks up passages by a domain and ids.
    """

    records: Iterable[TurnRecord]
    scores: Mapping[str, Mapping[str, float]]
    find_passages: FindPassages = lambda domain, ids: ()


@dataclass
class TurnBlocks:
    """The packed blocks by their ids in the page.

    `index-0` lists the turns of the first run, `turns-0-3` has its records from the 750th on,
    `passages-2` the texts of passages from the 500th on. `turns` is the number of all turns;
    `without_record` of them are in the list only.
    """

    blocks: dict[str, str] = field(default_factory=dict)
    turns: int = 0
    without_record: int = 0

    @property
    def size(self) -> int:
        """The characters of all blocks."""
        return sum(map(len, self.blocks.values()))


def pack_turns(runs: Iterable[RunTurns], need: Need, room: int) -> TurnBlocks:
    """Pack the turns of runs into blocks of at most `room` characters.

    If they are more, the records and passages of the turns that need them least are left out. The
    list has every turn.
    """
    runs = list(runs)
    everything = _Packing(runs, need, room)
    packed = everything.result
    allowed = room
    # More than once only if the estimate of the packed sizes was too low
    while packed.size > room and allowed > 0:
        chosen = everything.choose_turns(allowed)
        everything.release()
        packed = _Packing(runs, need, room, chosen).result
        allowed -= max(packed.size - room, room // 50)
    return packed


class _Packing:
    """One pass over the records of all runs.

    Args:
        runs: the runs.
        need: how urgent each turn is.
        room: the characters at which packing stops, since longer blocks will not be used.
        chosen: the places of the turns whose records are packed; None for all.
    """

    def __init__(
        self, runs: list[RunTurns], need: Need, room: int, chosen: frozenset[int] | None = None
    ) -> None:
        self._need = need
        self._room = room
        self._chosen = chosen
        self._pool = PassagePool(room)
        self._costs: list[TurnCost] = []
        self._packed_size = 0
        self._unpacked_size = 0
        self._index_size = 0
        self.result = TurnBlocks()
        for number, run in enumerate(runs):
            self._add_run(number, run)
        for number, chunk in enumerate(self._pool.list_chunks()):
            self.result.blocks[f"passages-{number}"] = chunk

    def choose_turns(self, room: int) -> frozenset[int]:
        """Choose the turns whose records the report has within so many characters."""
        pool = self._pool
        record_ratio = self._packed_size / max(self._unpacked_size, 1)
        passage_ratio = pool.packed / max(pool.unpacked, 1)
        costs = [cost._replace(size=cost.size * record_ratio) for cost in self._costs]
        sizes = [size * passage_ratio for size in pool.sizes]
        return choose_turns(costs, sizes, room - self._index_size)

    def release(self) -> None:
        """Forget the blocks, so that memory does not hold those of two passes."""
        self.result.blocks.clear()
        self._pool.release()

    def _add_run(self, number: int, run: RunTurns) -> None:
        index = TurnIndex()
        packer = TurnPacker(self._pool, run.find_passages)
        rows = self._pack_records(run, index, packer)
        for place, chunk in enumerate(_split(rows)):
            self._add_block(f"turns-{number}-{place}", chunk)
        packed_index = pack_bytes(format_row(index.to_data()))
        self.result.blocks[f"index-{number}"] = packed_index
        self._index_size += len(packed_index)

    def _pack_records(self, run: RunTurns, index: TurnIndex, packer: TurnPacker) -> Iterator[bytes]:
        for record in run.records:
            scores = run.scores.get(record.turn_id, {})
            index.add(record, scores)
            place = self.result.turns
            self.result.turns += 1
            if self._chosen is not None and place not in self._chosen:
                self.result.without_record += 1
                yield _NULL
                continue
            is_judged = "trust_unsupported" in scores
            turn = packer.pack(record, find_unsupported(record) if is_judged else ())
            self._costs.append(TurnCost(self._need(record.turn_id), len(turn.row), turn.passages))
            yield turn.row

    def _add_block(self, name: str, rows: list[bytes]) -> None:
        if self._packed_size > self._room:
            return
        block = pack_rows(rows)
        self.result.blocks[name] = block
        self._packed_size += len(block)
        self._unpacked_size += sum(map(len, rows))


def _split(rows: Iterator[bytes]) -> Iterator[list[bytes]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk
