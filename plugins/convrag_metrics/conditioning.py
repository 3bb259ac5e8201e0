"""A score given what can be known: MTRAG's conditioning on answerability."""

from __future__ import annotations

from convrag_metrics.unknowing import Verdict

LABEL = "answerability"
UNKNOWABLE = ("UNANSWERABLE", "CONVERSATIONAL")
"""Turns to which the right answer is that one does not know; MTRAG counts turns without a question among them."""
KNOWABLE = ("ANSWERABLE", "PARTIAL")


def conditioned(value: float, label: str, verdict: Verdict) -> float | None:
    """A turn's score, given its label and whether the answer says that it does not know.

    Unanswerable: 1 where the answer says so and nothing else, else 0. Answerable, wholly or in part: 0 where the answer
    says that it does not know and nothing else, else the score itself, as for a turn without a label. None for any
    other label (MTRAG-UN's UNDERSPECIFIED needs a judge of its own).
    """
    if label in UNKNOWABLE:
        return float(verdict == "yes")
    if label in KNOWABLE:
        return 0.0 if verdict == "yes" else value
    return value if not label else None
