"""Texts from a corpus for the passages that a data set names by their ids alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from convrag import Conversation, Passage, Turn


def add_texts(conversations: Iterable[Conversation], passages: Iterable[Passage]) -> Iterator[Conversation]:
    """Add the texts of each turn's `provenance` as its passages, and as its answer where it has none.

    The passages are read once, and only those that are named are kept. Raises what reading them raises.
    """
    read = tuple(conversations)
    wanted = {name for each in read for turn in (*each.history, *each.turns) for name in _list_provenance(turn)}
    found = {passage.id: passage for passage in passages if passage.id in wanted and passage.text} if wanted else {}
    for each in read:
        turns, history = (tuple(_add(turn, found) for turn in part) for part in (each.turns, each.history))
        yield replace(each, turns=turns, history=history)


def _add(turn: Turn, found: Mapping[str, Passage]) -> Turn:
    passages = turn.passages or tuple(found[name] for name in _list_provenance(turn) if name in found)
    return replace(turn, passages=passages, answer=turn.answer or "\n".join(passage.text for passage in passages))


def _list_provenance(turn: Turn) -> list[str]:
    return list(turn.labels.get("provenance", ()))
