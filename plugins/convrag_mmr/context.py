"""What a language model is shown of a conversation: selected sentences in the order in which they were said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convrag import Turn
from convrag_mmr.history import Sentence


def exchanges(selected: Sequence[Sentence], turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Selected sentences by turn, oldest first, and the last turn as it was held.

    Returns:
        `turn` (its number), `user` and `assistant` (what was selected of either; maybe nothing) for each turn.
    """
    said: dict[int, dict[str, list[str]]] = {}
    for unit in selected:
        if unit.turn < len(turns):
            said.setdefault(unit.turn, {"user": [], "agent": []})[unit.speaker].append(unit.sentence)
    shown = [
        {"turn": number, "user": " ".join(said[number]["user"]), "assistant": " ".join(said[number]["agent"])}
        for number in sorted(said)
    ]
    return [*shown, {"turn": len(turns), "user": turns[-1].question, "assistant": turns[-1].answer}]


def lines(shown: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same as a list of utterances: `turn`, `speaker` ("User" or "Assistant") and `text`."""
    return [
        {"turn": exchange["turn"], "speaker": role.capitalize(), "text": exchange[role]}
        for exchange in shown
        for role in ("user", "assistant")
        if exchange[role].strip()
    ]
