"""MTRAG's labels of whether a question can be answered, and scores conditioned on them."""

from convrag_metrics.idk import Idk

ANSWERABILITY = "answerability"
"""The label of a turn that says whether its question can be answered."""

CONVERSATIONAL = "CONVERSATIONAL"
"""The label of turns that ask nothing, such as "Thank you!"."""

UNANSWERABLE = ("UNANSWERABLE", CONVERSATIONAL)
"""Labels of turns to which "I do not know" is the right answer.

MTRAG counts turns without a question among them.
"""

ANSWERABLE = ("ANSWERABLE", "PARTIAL")
"""Labels of turns to which "I do not know" is a wrong answer."""

UNDERSPECIFIED = "UNDERSPECIFIED"
"""The label of turns whose question lacks something that must be asked for."""


def withholds_answer(label: str, idk: Idk) -> bool:
    """Whether an answer does not know, or is a courtesy where nothing is asked."""
    return idk == "yes" or (label == CONVERSATIONAL and idk == "courtesy")


def condition_on_answerability(score: float, label: str, idk: Idk) -> float | None:
    """Condition the score of a turn on its label and on "I do not know", as MTRAG does.

    Unanswerable: 1 where the answer says so and nothing else, else 0. Conversational: 1 also for a
    mere courtesy. Answerable, wholly or in part: 0 where the answer says that it does not know and
    nothing else, else the score itself, as for a turn without a label. None for any other label,
    such as MTRAG-UN's UNDERSPECIFIED, which needs a judge of its own.
    """
    if label in UNANSWERABLE:
        return float(withholds_answer(label, idk))
    if label in ANSWERABLE:
        return 0.0 if idk == "yes" else score
    return None if label else score
