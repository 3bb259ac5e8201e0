"""Detects answers that say "I do not know" (IDK), by rules in English."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from convrag import TurnRecord
from convrag.sdk.text.citations import strip_citations
from convrag.sdk.text.refusals import REFUSALS
from convrag_metrics.idk_patterns import is_about_sources, is_courtesy, is_disclaimer

Idk = Literal["no", "partly", "yes", "courtesy"]
"""Whether an answer says "I do not know".

"yes": it says nothing else; "partly": it says so of a part of the question; "courtesy": it says
nothing but courtesies ("You're welcome!"), which need no answer.
"""

# every disclaimer has one of these, and searching for them is fast
_NEGATION = re.compile(
    r"\bnot?\b|n't\b|never|nothing|unable|cannot|fail|lack|silent|unanswer|insufficient|little"
    r"|limited",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+|\n+")
_CLAUSE_END = re.compile(
    r"[;,]?\s+(?=(?:but|however|although|though|nevertheless)\b)|;\s+", re.IGNORECASE
)
_CONCESSION = re.compile(r"^\W*(?:although|though|even though|while|whilst)\b", re.IGNORECASE)


@lru_cache(maxsize=16384)  # several metrics ask about the same answers
def detect_idk(text: str) -> Idk:
    """Detect whether an answer says that it does not know.

    An answer is split into clauses. A clause is a disclaimer if in it the speaker or the documents
    lack what was asked for. If all other clauses are courtesies (regrets, offers, whom to ask
    instead) or say what the documents are about instead, nothing is answered. Without any
    disclaimer, an answer of courtesies alone is "courtesy". An empty answer and our own refusals,
    in any language, count as "yes".
    """
    if not text.strip() or text.startswith(REFUSALS):
        return "yes"
    plain = strip_citations(text).replace("’", "'").replace("”", '"')
    plain = re.sub(r"[^\S\n]+", " ", plain)
    clauses = [
        clause for sentence in _SENTENCE_END.split(plain) for clause in _split_clauses(sentence)
    ]
    if _NEGATION.search(plain) and is_disclaimer(plain.replace("\n", " ")):
        others = [clause for clause in clauses if not is_disclaimer(clause)]
        if len(others) < len(clauses):
            return "partly" if any(map(_is_statement, others)) else "yes"
    has_words = re.search(r"\w", plain) is not None
    return "courtesy" if has_words and all(map(is_courtesy, clauses)) else "no"


def detect_idk_answer(record: TurnRecord) -> Idk:
    """Detect whether a turn's answer says that it does not know.

    So does an answer that ginger calls "unanswerable". A turn that failed says nothing.
    """
    if record.error and not record.answer.text:
        return "no"
    if is_called_unanswerable(record):
        return "yes"
    return detect_idk(record.answer.text)


def is_called_unanswerable(record: TurnRecord) -> bool:
    """Whether the generator found nothing to answer from, as ginger's trace says."""
    return bool(record.trace.get("generator", {}).get("outcome") == "unanswerable")


def _split_clauses(sentence: str) -> Iterator[str]:
    """Yield the clauses of a sentence; "Although I do not know X, Y" is split at its comma."""
    for part in _CLAUSE_END.split(sentence):
        clauses = part.split(",") if _CONCESSION.match(part) else [part]
        for clause in clauses:
            yield clause.strip()


def _is_statement(clause: str) -> bool:
    return not is_courtesy(clause) and not is_about_sources(clause)
