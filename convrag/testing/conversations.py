"""Eight conversations of three turns about the sample passages, which differ in every question."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from convrag.api.records import TurnRecord
from convrag.api.types import Answer, Conversation, Evidence, EvidenceItem, Hit, Passage, Question, Turn
from convrag.testing.samples import conversation, passages

_QUESTIONS = (
    ("What conducts heat best?", "Does a steel kettle boil sooner?", "And how hot does it get?"),
    ("Qui boit du thé à la menthe ?", "Est-il très sucré ?", "And in English, please?"),
    ("How is green tea brewed?", "What makes it bitter?", "Is eighty degrees enough for a small cup?"),
    ("Where does the steam go?", "Through which openings?", "Why are there two of them?"),
    ("Which water is best for tea?", "Must the water boil?", "How long does that take in copper?"),
    ("What is a lid for?", "Is steam forced through it?", "Would a kettle without one whistle?"),
    ("Who invented the kettle?", "Was it made of copper?", "Then why are they made of steel now?"),
)


def conversations() -> list[Conversation]:
    """Make eight conversations; the first is the sample conversation."""
    return [conversation(), *(_make_conversation(n, asked) for n, asked in enumerate(_QUESTIONS, 2))]


def questions() -> list[list[Question]]:
    """Make the questions of the eight conversations in order. Those of one share their stages' state, as in a run."""
    asked = []
    for each in conversations():
        state: dict[object, dict[str, Any]] = {}
        asked.append(
            [
                Question(turn.question, each.id, turn.id, number=n + 1, history=each.turns[:n], stage_state=state)
                for n, turn in enumerate(each.turns)
            ]
        )
    return asked


def rotate_passages(steps: int) -> list[Passage]:
    """Make the sample passages in another order: the first ones come last."""
    found = passages()
    steps %= len(found)
    return found[steps:] + found[:steps]


def make_hits(steps: int) -> list[Hit]:
    """Make hits of the sample passages in another order, best first."""
    return [Hit(passage, 4.0 - n) for n, passage in enumerate(rotate_passages(steps))]


def make_evidence(*shown: Passage) -> Evidence:
    """Make evidence of passages, numbered from 1; without arguments, of the sample passages."""
    chosen = shown or tuple(passages())
    return Evidence(tuple(EvidenceItem(n, passage, passage.content) for n, passage in enumerate(chosen, 1)))


def vary_records(records: list[TurnRecord], steps: int) -> list[TurnRecord]:
    """Make other records of the same turns: with hits in another order, and another answer."""
    hits = make_hits(steps)
    answer = Answer(f"{hits[0].passage.text} [1]", (hits[0].passage.id,))
    evidence = make_evidence(*(hit.passage for hit in hits))
    return [
        record if record.error else replace(record, hits=tuple(hits[: 1 + steps % 4]), evidence=evidence, answer=answer)
        for record in records
    ]


def _make_conversation(number: int, asked: tuple[str, ...]) -> Conversation:
    found = rotate_passages(number)
    turns = [Turn(f"tea-{number}<::>{n + 1}", question, found[n].text, (found[n],)) for n, question in enumerate(asked)]
    return Conversation(f"tea-{number}", tuple(turns))
