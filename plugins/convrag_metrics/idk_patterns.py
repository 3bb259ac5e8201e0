"""English patterns of clauses that answer nothing: disclaimers, courtesies, and topics."""

import re
from functools import cache
from pathlib import Path

from convrag.sdk.text.analysis import read_lists


def _any(words: str) -> str:
    """Make a pattern of any of these words, in which an underscore is a space."""
    return "(?:" + "|".join(word.replace("_", " ") for word in words.split()) + ")"


def _gap(most: int) -> str:
    """Make a pattern of at most `most` words."""
    return rf"(?:[\w',()-]+ ){{0,{most}}}"


_WE = r"\b(?:i|we)"
_BE = "(?: am| are| was| were|'m|'re)"
_DO_NOT = "(?: currently| still)? (?:do|did)(?: not|n't)"
_CANNOT = _any("cannot can't can_not couldn't could_not")
_UNABLE = rf"(?:{_CANNOT}|(?:not able|unable) to)"
_IS_NOT = _any("is are was were") + r"(?: not|n't)"
_FAIL_TO = "(?:" + _any("do does did has have") + "(?: not|n't)|fails? to|never)"

_WORDS = {
    name: _any(" ".join(sorted(words)))
    for name, words in read_lists(Path(__file__).with_suffix(".txt")).items()
}
_SOURCE = _WORDS["sources"]
_MATTER = _WORDS["what is lacking"]
_FOUND = _WORDS["what is not found"]
_FIND = _WORDS["what cannot be done"]
_GIVE = _WORDS["what sources do"]
_GIVEN = _WORDS["what is not"]
_ESTABLISHED = _WORDS["what cannot be"]
_CONSULT = _WORDS["what else to do"]
_ABOUT = _WORDS["what sources are said to do"]
_TOPIC = _WORDS["what they do"]

_AFTER_NOUN = _any(
    "about on of in for regarding concerning that to available provided given found here as"
)
_PRESENT = _any("found available provided given mentioned there")
_ABOUT_IT = (
    rf"(?= {_AFTER_NOUN}\b"
    rf"| (?:is|are|was|were|could be|can be) {_PRESENT}\b"
    r"|[^\w ]|$)"
)
_UNABLE_OPENING = r"(?:sorry|unfortunately|regrettably|apologies)?,? ?(?:but )?(?:i )?unable to"
_HAVE = _any("contain provide include offer give have")
_IN = _any("in by from within based among")
_REQUEST = _any(
    "please could_you can_you would_you do_you feel_free let_me_know is_there_anything thank"
)
_CONNECTIVE = _any(
    "however nevertheless but yes no well also currently unfortunately as_of_now at_this_time"
)
_CONCESSION = _any("although though even_though while whilst")
_ONLY = "(?:only|primarily|mainly|mostly)"
_DOCUMENTS = rf"(?:they|it|these|(?:the|these|this|all) {_gap(3)}{_SOURCE})"
_DISCLAIMERS = (
    rf"{_WE}{_DO_NOT} {_gap(2)}(?:know|understand)\b",
    rf"{_WE}{_DO_NOT} {_gap(1)}{_any('have see find possess')} {_gap(5)}{_MATTER}\b",
    rf"{_WE} have {_any('no insufficient little limited not_enough')} {_gap(3)}{_MATTER}\b",
    rf"{_WE} lack {_gap(4)}{_MATTER}\b",
    rf"{_WE} (?:found|see|find) (?:no|nothing)\b",
    rf"{_WE}{_BE}(?: currently)? not (?:sure|aware|certain|familiar|clear)\b",
    rf"{_WE}{_BE}? ?(?:sorry,? (?:but )?(?:i )?)?{_UNABLE} {_gap(1)}{_FIND}\b",
    rf"^{_UNABLE_OPENING} {_gap(1)}{_FIND}\b",
    rf"\b{_SOURCE} {_gap(8)}{_FAIL_TO} {_gap(3)}{_GIVE}\b",
    rf"\b(?:they|it) {_FAIL_TO} {_gap(2)}{_HAVE} {_gap(4)}{_FOUND}\b",
    rf"\b{_SOURCE} {_gap(4)}(?:lacks?|(?:is|are) silent)\b",
    rf"\b{_any('is was are were')} {_gap(1)}no {_gap(3)}{_FOUND}\b{_ABOUT_IT}",
    rf"^{_gap(2)}no {_gap(3)}{_FOUND}\b{_ABOUT_IT}",
    rf"\b{_IS_NOT} {_gap(1)}{_GIVEN} {_gap(3)}{_IN} {_gap(3)}{_SOURCE}\b",
    rf"\b{_CANNOT} be {_gap(1)}{_ESTABLISHED}\b",
    rf"\b(?:not|n't|in) ?(?:enough|sufficient) {_gap(2)}(?:information|context|details?|data)\b",
    r"\bunanswerable\b",
    r"\bno answer (?:is|was|can)\b",
)
_COURTESIES = (
    rf"^\W*{_REQUEST}\b",
    rf"^\W*(?:i{_BE} )?(?:very |so |really )?sorry\b",
    r"^\W*(?:i apologi[sz]e|(?:my )?apologies|you(?:'re| are) welcome)\b",
    r"^\W*i (?:hope|appreciate|understand)\b",
    rf"{_WE} (?:would |can |could |may |might )?(?:also )?(?:suggest|recommend|advise)\b",
    rf"\byou (?:may|might|can|could|should) {_gap(4)}{_CONSULT}\b",
    rf"\bit (?:is|would be) (?:best|advisable|recommended|helpful) {_gap(4)}{_CONSULT}\b",
    rf"\bif you {_any('have need could can provide would want')}\b",
    rf"^\W*{_CONNECTIVE}?\W*$",
    r"\b(?:feel free|let me know|(?:happy|glad) (?:to|i|that)|here to help|do my best)\b",
    r"\b(?:more|further|additional) (?:context|information|details)\b"
    r".*\b(?:need|help|assist|better)",
)
_ABOUT_SOURCES = (
    rf"^(?:however, |instead, )?(?:the|these|this|they|it|all) {_gap(5)}{_ONLY} {_ABOUT}",
    rf"^\W*{_CONCESSION} {_gap(3)}{_SOURCE} {_gap(2)}{_ABOUT}",
    rf"^\W*(?:(?:however|instead|rather|but),? )?{_DOCUMENTS} "
    rf"(?:{_gap(2)}{_TOPIC}\b(?! (?:that|how|why))|instead {_ABOUT})",
)


def is_disclaimer(clause: str) -> bool:
    """Whether a clause says that the speaker, or the documents, do not have what was asked for."""
    return bool(_compile(_DISCLAIMERS).search(clause))


def is_courtesy(clause: str) -> bool:
    """Whether a clause is a courtesy: a regret, an offer, or whom to ask instead."""
    return bool(_compile(_COURTESIES).search(clause))


def is_about_sources(clause: str) -> bool:
    """Whether a clause says what the documents are about instead."""
    return bool(_compile(_ABOUT_SOURCES).search(clause))


@cache  # compiled at the first use: it takes as long as importing all other metrics
def _compile(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)
