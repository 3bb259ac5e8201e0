"""Whether an answer says that it does not know: rules about its clauses, in English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from convrag import TurnRecord
from convrag_metrics.phrases import disclaims, is_about_sources, is_courtesy
from convrag_metrics.texts import without_citations

Verdict = Literal["no", "partly", "yes"]

_DENIES = re.compile(
    r"\bnot?\b|n't\b|never|nothing|unable|cannot|fail|lack|silent|unanswer|insufficient|little|limited", re.IGNORECASE
)  # no clause disclaims without one of these, and they are found at once
_SENTENCE = re.compile(r"(?<=[.!?])[\"')]*\s+|\n+")
_CLAUSE = re.compile(r"[;,]?\s+(?=(?:but|however|although|though|nevertheless)\b)|;\s+", re.IGNORECASE)
_CONCEDING = re.compile(r"^\W*(?:although|though|even though|while|whilst)\b", re.IGNORECASE)


@lru_cache(maxsize=16384)  # several metrics ask of the same answers
def unknowing(text: str) -> Verdict:
    """Whether an answer says that it does not know, and nothing else ("yes"), or says so of a part ("partly").

    An answer is taken apart into clauses. One in which the speaker or the documents lack what was asked for disclaims.
    Where all others are courtesies (regrets, offers, whom to ask instead), nothing is answered.
    """
    plain = re.sub(r"[^\S\n]+", " ", without_citations(text).replace("’", "'").replace("”", '"'))
    if not (_DENIES.search(plain) and disclaims(plain.replace("\n", " "))):
        return "no"
    clauses = [clause for sentence in _SENTENCE.split(plain) for clause in _clauses(sentence)]
    disclaimed = [disclaims(clause) for clause in clauses]
    if not any(disclaimed):
        return "no"
    says = (not denied and _states(clause) for clause, denied in zip(clauses, disclaimed, strict=True))
    return "partly" if any(says) else "yes"


def answered(record: TurnRecord) -> Verdict:
    """The verdict on a turn; a generator's own word for it (ginger's outcome) counts before the text."""
    if record.trace.get("generator", {}).get("outcome") == "unanswerable":
        return "yes"
    return unknowing(record.answer.text)


def _clauses(sentence: str) -> Iterator[str]:
    """The parts of a sentence that may disagree: "Although I do not know X, Y" ends its concession at a comma."""
    for part in _CLAUSE.split(sentence):
        yield from (each.strip() for each in (part.split(",") if _CONCEDING.match(part) else [part]))


def _states(clause: str) -> bool:
    return not is_courtesy(clause) and not is_about_sources(clause)
