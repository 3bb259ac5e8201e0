"""What is left out of a report that would become too large: the texts of passages of turns that need no second look."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

_RECORDS = 0.75
"""The share of the room that records may take before those of well-answered turns are left out, too."""

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
