"""The turns of one or several runs as packed blocks of a report, within a limit of size."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from convrag import TurnRecord
from convrag_web.report.passage_pool import CHUNK, PassagePool, format_row, pack_bytes, pack_rows
from convrag_web.report.turn_rows import FindPassages, TurnIndex, TurnPacker

_RECORDS = 0.75
"""The share of the room that records may take; beyond it, the records of well-answered turns are left out, too."""

_CAUTION = 0.97  # the packed size of what is kept is an estimate


class TurnCost(NamedTuple):
    """What a turn takes: its need of a second look (lower is more urgent), bytes of its record, numbers of passages."""

    need: float
    size: float
    passages: array[int]


class Cut(NamedTuple):
    """The turns whose records are kept, by their place in the report, and the passages whose texts are kept."""

    turns: frozenset[int]
    passages: frozenset[int]


def choose_cut(turns: Sequence[TurnCost], passages: Sequence[float], room: float) -> Cut:
    """Choose what to keep, beginning with the turns that need it most.

    Args:
        turns: all turns, in the order of the report.
        passages: the packed size of each passage, in characters.
        room: characters for all of it.
    """
    room *= _CAUTION
    order = sorted(range(len(turns)), key=lambda place: (turns[place].need, place))
    kept: list[int] = []
    records = 0.0
    for place in order:
        if records + turns[place].size > _RECORDS * room:
            break
        records += turns[place].size
        kept.append(place)
    texts: set[int] = set()
    left = room - records
    for place in kept:
        new = set(turns[place].passages) - texts
        if (size := sum(passages[number] for number in new)) > left:
            break
        left -= size
        texts |= new
    return Cut(frozenset(kept), frozenset(texts))


Need = Callable[[str], float]
"""Turn id -> how much it needs a second look; lower is more urgent."""


@dataclass(frozen=True)
class RunTurns:
    """The turns of a run.

    Args:
        records: can be iterated several times; they come conversation by conversation.
        scores: turn id -> measure -> value.
        find_passages: looks up passages by a domain and ids.
    """

    records: Iterable[TurnRecord]
    scores: Mapping[str, Mapping[str, float]]
    find_passages: FindPassages = lambda domain, ids: ()


@dataclass
class TurnBlocks:
    """The packed blocks by their ids in the page.

    `index-0` lists the turns of the first run, `turns-0-3` holds its records from the 750th on, `passages-2` the texts
    of passages from the 500th on. Of all `turns`, some may be `without_texts` of all their passages, and some
    `without_record`.
    """

    blocks: dict[str, str] = field(default_factory=dict)
    turns: int = 0
    without_texts: int = 0
    without_record: int = 0

    @property
    def size(self) -> int:
        """The characters of all blocks."""
        return sum(map(len, self.blocks.values()))


def pack_turns(runs: Iterable[RunTurns], need: Need, room: int) -> TurnBlocks:
    """Pack the turns of runs into blocks of at most `room` characters.

    Where they are more, the texts of passages are left out of the turns that need them least, and if that is not
    enough, whole records. Every turn stays in the list.
    """
    runs = list(runs)
    whole = _Packing(runs, need, room)
    packed, allowed = whole.result, room
    while packed.size > room and allowed > 0:  # a second time only where the estimate of the packed sizes was too low
        cut = whole.choose_cut(allowed)
        whole.release()
        packed = _Packing(runs, need, room, cut).result
        allowed -= max(packed.size - room, room // 50)
    return packed


class _Packing:
    """One pass over the records of all runs.

    Args:
        runs: have the records.
        need: how urgent each turn is.
        room: blocks that are longer together will not be used; packing stops there.
        cut: what is kept; None for everything.
    """

    def __init__(self, runs: list[RunTurns], need: Need, room: int, cut: Cut | None = None) -> None:
        self._need = need
        self._room = room
        self._cut = cut
        self._pool = PassagePool(room, None if cut is None else cut.passages)
        self._costs: list[TurnCost] = []
        self._packed = self._unpacked = 0
        self.result = TurnBlocks()
        self._index_size = 0
        for number, run in enumerate(runs):
            self._add_run(number, run)
        chunks = self._pool.list_chunks()
        self.result.blocks |= {f"passages-{number}": chunk for number, chunk in enumerate(chunks)}
        self.result.turns = len(self._costs)

    def choose_cut(self, room: int) -> Cut:
        """Choose what to keep within so many characters."""
        pool = self._pool
        share, passage_share = self._packed / max(self._unpacked, 1), pool.packed / max(pool.unpacked, 1)
        costs = [cost._replace(size=cost.size * share) for cost in self._costs]
        return choose_cut(costs, [size * passage_share for size in pool.sizes], room - self._index_size)

    def release(self) -> None:
        """Forget the blocks, so that memory does not hold the blocks of two passes."""
        self.result.blocks.clear()
        self._pool.release()

    def _add_run(self, number: int, run: RunTurns) -> None:
        index, packer = TurnIndex(), TurnPacker(self._pool, run.find_passages)
        for place, rows in enumerate(_split(self._pack_records(run, index, packer))):
            self._add_block(f"turns-{number}-{place}", rows)
        listed = pack_bytes(format_row(index.to_data()))
        self.result.blocks[f"index-{number}"] = listed
        self._index_size += len(listed)

    def _pack_records(self, run: RunTurns, index: TurnIndex, packer: TurnPacker) -> Iterator[bytes]:
        for record in run.records:
            index.add(record, run.scores.get(record.turn_id, {}))
            turn = packer.pack(record)
            place = len(self._costs)
            self._costs.append(TurnCost(self._need(record.turn_id), len(turn.row), turn.passages))
            kept = self._cut is None or place in self._cut.turns
            self.result.without_record += not kept
            self.result.without_texts += kept and not (
                self._cut is None or self._cut.passages.issuperset(turn.passages)
            )
            yield turn.row if kept else b"null"

    def _add_block(self, name: str, rows: list[bytes]) -> None:
        if self._packed <= self._room:
            self.result.blocks[name] = pack_rows(rows)
            self._packed += len(self.result.blocks[name])
            self._unpacked += sum(map(len, rows))


def _split(rows: Iterator[bytes]) -> Iterator[list[bytes]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk
