"""What MTRAG's formats have in common: the talk up to a turn, its labels, its passages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convrag_tasks.given_turns import Asked

LABELS: Mapping[str, str] = {
    "answerability": "Answerability",
    "question_type": "Question Type",
    "multi_turn": "Multi-Turn",
}
"""Our names of MTRAG's labels, and its own."""


def spoken(place: Asked) -> list[dict[str, str]]:
    """The conversation up to the question, with the data set's answers, as MTRAG's tasks have it."""
    said: list[dict[str, str]] = []
    for turn in place.conversation.turns[: place.number - 1]:
        said += [{"speaker": "user", "text": turn.question}, {"speaker": "agent", "text": turn.answer}]
    return [*said, {"speaker": "user", "text": place.turn.question}]


def labelled(labels: Mapping[str, Any]) -> dict[str, list[str]]:
    """Labels by MTRAG's names, each a list."""
    return {LABELS.get(name, name): _values(value) for name, value in labels.items()}


def _values(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]
