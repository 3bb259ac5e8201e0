"""Detects answers that say "I do not know" (IDK), by rules in English, and conditions scores on answerability."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from convrag import TurnRecord
from convrag_metrics.idk_phrases import is_about_sources, is_courtesy, is_disclaimer
from convrag_metrics.record_texts import strip_citations

Idk = Literal["no", "partly", "yes", "courtesy"]
"""Whether an answer says "I do not know": no; of a part of the question; and nothing else; or it says nothing but
courtesies ("You're welcome!"), which need no answer.
"""

ANSWERABILITY = "answerability"
"""The label of a turn that says whether its question can be answered."""
CONVERSATIONAL = "CONVERSATIONAL"
"""The label of turns that ask nothing, such as "Thank you!"."""
UNANSWERABLE = ("UNANSWERABLE", CONVERSATIONAL)
"""Labels of turns to which "I do not know" is the right answer; MTRAG counts turns without a question among them."""
ANSWERABLE = ("ANSWERABLE", "PARTIAL")
"""Labels of turns to which it is not."""

_NEGATION = re.compile(
    r"\bnot?\b|n't\b|never|nothing|unable|cannot|fail|lack|silent|unanswer|insufficient|little|limited", re.IGNORECASE
)  # every disclaimer has one of these, and searching for them is fast
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+|\n+")
_CLAUSE_END = re.compile(r"[;,]?\s+(?=(?:but|however|although|though|nevertheless)\b)|;\s+", re.IGNORECASE)
_CONCESSION = re.compile(r"^\W*(?:although|though|even though|while|whilst)\b", re.IGNORECASE)


@lru_cache(maxsize=16384)  # several metrics ask about the same answers
def detect_idk(text: str) -> Idk:
    """Whether an answer says that it does not know, and nothing else ("yes"), or says so of a part ("partly").

    An answer is split into clauses. A clause is a disclaimer if in it the speaker or the documents lack what was asked
    for. Where all other clauses are courtesies (regrets, offers, whom to ask instead), nothing is answered. Without any
    disclaimer, an answer of courtesies alone is "courtesy".
    """
    plain = re.sub(r"[^\S\n]+", " ", strip_citations(text).replace("’", "'").replace("”", '"'))
    clauses = [clause for sentence in _SENTENCE_END.split(plain) for clause in _split_clauses(sentence)]
    may_disclaim = _NEGATION.search(plain) and is_disclaimer(plain.replace("\n", " "))
    disclaimers = [is_disclaimer(clause) for clause in clauses] if may_disclaim else []
    if not any(disclaimers):
        return "courtesy" if re.search(r"\w", plain) and all(map(is_courtesy, clauses)) else "no"
    others = [clause for clause, disclaimer in zip(clauses, disclaimers, strict=True) if not disclaimer]
    return "partly" if any(map(_is_statement, others)) else "yes"


def detect_idk_answer(record: TurnRecord) -> Idk:
    """Whether a turn's answer says that it does not know; so does an answer that ginger calls "unanswerable"."""
    if record.trace.get("generator", {}).get("outcome") == "unanswerable":
        return "yes"
    return detect_idk(record.answer.text)


def withholds_answer(label: str, idk: Idk) -> bool:
    """Whether an answer answers nothing: it does not know, or it is a courtesy in a turn that asks nothing."""
    return idk == "yes" or (label == CONVERSATIONAL and idk == "courtesy")


def condition_on_answerability(score: float, label: str, idk: Idk) -> float | None:
    """MTRAG's conditioning of a turn's score on its label, and on whether the answer says that it does not know.

    Unanswerable: 1 where the answer says so and nothing else, else 0. Conversational: 1 also for a mere courtesy.
    Answerable, wholly or in part: 0 where the answer says that it does not know and nothing else, else the score
    itself, as for a turn without a label. None for any other label, such as MTRAG-UN's UNDERSPECIFIED, which needs a
    judge of its own.
    """
    if label in UNANSWERABLE:
        return float(withholds_answer(label, idk))
    if label in ANSWERABLE:
        return 0.0 if idk == "yes" else score
    return score if not label else None


def _split_clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence; "Although I do not know X, Y" ends its concession at a comma."""
    for part in _CLAUSE_END.split(sentence):
        yield from (each.strip() for each in (part.split(",") if _CONCESSION.match(part) else [part]))


def _is_statement(clause: str) -> bool:
    return not is_courtesy(clause) and not is_about_sources(clause)
