"""Detects answers that say "I do not know" (IDK), by rules in English, and conditions scores on
answerability.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

from convrag import TurnRecord
from convrag.sdk.text.analysis import read_lists
from convrag.sdk.text.citations import strip_citations
from convrag.sdk.text.refusals import REFUSALS

Idk = Literal["no", "partly", "yes", "courtesy"]
"""Whether an answer says "I do not know": no; of a part of the question; and nothing else; or it
says nothing but courtesies ("You're welcome!"), which need no answer.
"""

ANSWERABILITY = "answerability"
"""The label of a turn that says whether its question can be answered."""
CONVERSATIONAL = "CONVERSATIONAL"
"""The label of turns that ask nothing, such as "Thank you!"."""
UNANSWERABLE = ("UNANSWERABLE", CONVERSATIONAL)
"""Labels of turns to which "I do not know" is the right answer; MTRAG counts turns without a
question among them.
"""
ANSWERABLE = ("ANSWERABLE", "PARTIAL")
"""Labels of turns to which it is not."""
UNDERSPECIFIED = "UNDERSPECIFIED"
"""The label of turns whose question lacks something that must be asked for."""

_NEGATION = re.compile(
    r"\bnot?\b|n't\b|never|nothing|unable|cannot|fail|lack|silent|unanswer|insufficient|little|limited",
    re.IGNORECASE,
)  # every disclaimer has one of these, and searching for them is fast
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+|\n+")
_CLAUSE_END = re.compile(
    r"[;,]?\s+(?=(?:but|however|although|though|nevertheless)\b)|;\s+", re.IGNORECASE
)
_CONCESSION = re.compile(r"^\W*(?:although|though|even though|while|whilst)\b", re.IGNORECASE)


@lru_cache(maxsize=16384)  # several metrics ask about the same answers
def detect_idk(text: str) -> Idk:
    """Whether an answer says that it does not know, and nothing else ("yes"), or says so of a part
    ("partly").

    An answer is split into clauses. A clause is a disclaimer if in it the speaker or the documents
    lack what was asked for. Where all other clauses are courtesies (regrets, offers, whom to ask
    instead), nothing is answered. Without any disclaimer, an answer of courtesies alone is
    "courtesy". So are sentences that say what the documents are about instead. An empty answer says
    nothing else, either; nor do our own refusals, in any language.
    """
    if not text.strip() or text.startswith(REFUSALS):
        return "yes"
    plain = re.sub(r"[^\S\n]+", " ", strip_citations(text).replace("’", "'").replace("”", '"'))
    clauses = [
        clause for sentence in _SENTENCE_END.split(plain) for clause in _split_clauses(sentence)
    ]
    may_disclaim = _NEGATION.search(plain) and is_disclaimer(plain.replace("\n", " "))
    disclaimers = [is_disclaimer(clause) for clause in clauses] if may_disclaim else []
    if not any(disclaimers):
        return "courtesy" if re.search(r"\w", plain) and all(map(is_courtesy, clauses)) else "no"
    others = [
        clause for clause, disclaimer in zip(clauses, disclaimers, strict=True) if not disclaimer
    ]
    return "partly" if any(map(_is_statement, others)) else "yes"


def detect_idk_answer(record: TurnRecord) -> Idk:
    """Whether a turn's answer says that it does not know; so does an answer that ginger calls
    "unanswerable".

    A turn that failed says nothing.
    """
    if record.error and not record.answer.text:
        return "no"
    if is_called_unanswerable(record):
        return "yes"
    return detect_idk(record.answer.text)


def is_called_unanswerable(record: TurnRecord) -> bool:
    """Whether the generator found nothing to answer from, as ginger's trace says."""
    return bool(record.trace.get("generator", {}).get("outcome") == "unanswerable")


def withholds_answer(label: str, idk: Idk) -> bool:
    """Whether an answer answers nothing: it does not know, or it is a courtesy in a turn that asks
    nothing.
    """
    return idk == "yes" or (label == CONVERSATIONAL and idk == "courtesy")


def condition_on_answerability(score: float, label: str, idk: Idk) -> float | None:
    """MTRAG's conditioning of a turn's score on its label, and on whether the answer says that it
    does not know.

    Unanswerable: 1 where the answer says so and nothing else, else 0. Conversational: 1 also for a
    mere courtesy. Answerable, wholly or in part: 0 where the answer says that it does not know and
    nothing else, else the score itself, as for a turn without a label. None for any other label,
    such as MTRAG-UN's UNDERSPECIFIED, which needs a judge of its own.
    """
    if label in UNANSWERABLE:
        return float(withholds_answer(label, idk))
    if label in ANSWERABLE:
        return 0.0 if idk == "yes" else score
    return score if not label else None


def _split_clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence; "Although I do not know X, Y" ends its concession at a comma."""
    for part in _CLAUSE_END.split(sentence):
        yield from (
            each.strip() for each in (part.split(",") if _CONCESSION.match(part) else [part])
        )


def _is_statement(clause: str) -> bool:
    return not is_courtesy(clause) and not is_about_sources(clause)


def _any(words: str) -> str:
    """A pattern of any of these words, which white space separates; an underscore is a space within
    one.
    """
    return "(?:" + "|".join(word.replace("_", " ") for word in words.split()) + ")"


def _gap(most: int) -> str:
    """A pattern of at most `most` words."""
    return rf"(?:[\w',()-]+ ){{0,{most}}}"


_WE = r"\b(?:i|we)"
_BE = "(?: am| are| was| were|'m|'re)"
_DO_NOT = "(?: currently| still)? (?:do|did)(?: not|n't)"
_CANNOT = _any("cannot can't can_not couldn't could_not")
_UNABLE = rf"(?:{_CANNOT}|(?:not able|unable) to)"
_IS_NOT = _any("is are was were") + r"(?: not|n't)"
_FAIL_TO = "(?:" + _any("do does did has have") + "(?: not|n't)|fails? to|never)"

_SOURCE, _MATTER, _FOUND, _FIND, _GIVE, _GIVEN, _ESTABLISHED, _CONSULT, _ABOUT, _TOPIC = (
    _any(" ".join(sorted(words)))
    for words in read_lists(Path(__file__).with_suffix(".txt")).values()
)
_ABOUT_IT = (
    rf"(?= {_any('about on of in for regarding concerning that to available provided given found here as')}\b"
    rf"| (?:is|are|was|were|could be|can be) {_any('found available provided given mentioned there')}\b|[^\w ]|$)"
)
_DISCLAIMERS = (
    rf"{_WE}{_DO_NOT} {_gap(2)}(?:know|understand)\b",
    rf"{_WE}{_DO_NOT} {_gap(1)}{_any('have see find possess')} {_gap(5)}{_MATTER}\b",
    rf"{_WE} have {_any('no insufficient little limited not_enough')} {_gap(3)}{_MATTER}\b",
    rf"{_WE} lack {_gap(4)}{_MATTER}\b",
    rf"{_WE} (?:found|see|find) (?:no|nothing)\b",
    rf"{_WE}{_BE}(?: currently)? not (?:sure|aware|certain|familiar|clear)\b",
    rf"{_WE}{_BE}? ?(?:sorry,? (?:but )?(?:i )?)?{_UNABLE} {_gap(1)}{_FIND}\b",
    rf"^(?:sorry|unfortunately|regrettably|apologies)?,? ?(?:but )?(?:i )?unable to {_gap(1)}{_FIND}\b",
    rf"\b{_SOURCE} {_gap(8)}{_FAIL_TO} {_gap(3)}{_GIVE}\b",
    rf"\b(?:they|it) {_FAIL_TO} {_gap(2)}{_any('contain provide include offer give have')} {_gap(4)}{_FOUND}\b",
    rf"\b{_SOURCE} {_gap(4)}(?:lacks?|(?:is|are) silent)\b",
    rf"\b{_any('is was are were')} {_gap(1)}no {_gap(3)}{_FOUND}\b{_ABOUT_IT}",
    rf"^{_gap(2)}no {_gap(3)}{_FOUND}\b{_ABOUT_IT}",
    rf"\b{_IS_NOT} {_gap(1)}{_GIVEN} {_gap(3)}{_any('in by from within based among')} {_gap(3)}{_SOURCE}\b",
    rf"\b{_CANNOT} be {_gap(1)}{_ESTABLISHED}\b",
    rf"\b(?:not|n't|in) ?(?:enough|sufficient) {_gap(2)}(?:information|context|details?|data)\b",
    r"\bunanswerable\b",
    r"\bno answer (?:is|was|can)\b",
)
_COURTESIES = (
    rf"^\W*{_any('please could_you can_you would_you do_you feel_free let_me_know is_there_anything thank')}\b",
    rf"^\W*(?:i{_BE} )?(?:very |so |really )?sorry\b",
    r"^\W*(?:i apologi[sz]e|(?:my )?apologies|you(?:'re| are) welcome)\b",
    r"^\W*i (?:hope|appreciate|understand)\b",
    rf"{_WE} (?:would |can |could |may |might )?(?:also )?(?:suggest|recommend|advise)\b",
    rf"\byou (?:may|might|can|could|should) {_gap(4)}{_CONSULT}\b",
    rf"\bit (?:is|would be) (?:best|advisable|recommended|helpful) {_gap(4)}{_CONSULT}\b",
    rf"\bif you {_any('have need could can provide would want')}\b",
    rf"^\W*{_any('however nevertheless but yes no well also currently unfortunately as_of_now at_this_time')}?\W*$",
    r"\b(?:feel free|let me know|(?:happy|glad) (?:to|i|that)|here to help|do my best)\b",
    r"\b(?:more|further|additional) (?:context|information|details)\b.*\b(?:need|help|assist|better)",
)
_ABOUT_SOURCES = (
    rf"^(?:however, |instead, )?(?:the|these|this|they|it|all) {_gap(5)}(?:only|primarily|mainly|mostly) {_ABOUT}",
    rf"^\W*{_any('although though even_though while whilst')} {_gap(3)}{_SOURCE} {_gap(2)}{_ABOUT}",
    rf"^\W*(?:(?:however|instead|rather|but),? )?(?:they|it|these|(?:the|these|this|all) {_gap(3)}{_SOURCE}) "
    rf"(?:{_gap(2)}{_TOPIC}\b(?! (?:that|how|why))|instead {_ABOUT})",
)


def is_disclaimer(clause: str) -> bool:
    """Whether a clause says that the speaker, or the documents, do not have what was asked for."""
    return bool(_compile(_DISCLAIMERS).search(clause))


def is_courtesy(clause: str) -> bool:
    """Whether a clause is a courtesy, which answers nothing: a regret, an offer, or whom to ask
    instead.
    """
    return bool(_compile(_COURTESIES).search(clause))


def is_about_sources(clause: str) -> bool:
    """Whether a clause says what the documents are about instead."""
    return bool(_compile(_ABOUT_SOURCES).search(clause))


@cache  # compiled at the first use: it takes as long as importing all other metrics
def _compile(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)
