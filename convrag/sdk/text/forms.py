"""What a question asks for: a number, a path, what to do, or what a thing is; and whether a
sentence says that.
"""

import re
from collections.abc import Set
from pathlib import Path
from typing import Literal

from convrag.sdk.text.analysis import HOW, find_stems, read_lists

Form = Literal["", "time", "number", "path", "procedure", "definition"]
"""A time ("when"); a number ("how long"); a path or an address ("where is the file"); what to do
("how do I"); what a thing is; or anything.
"""

_WORDS = {
    name: "|".join(sorted(words))
    for name, words in read_lists(Path(__file__).with_suffix(".txt")).items()
}
_ASKED: dict[Form, str] = {
    "time": r"(?:\A\W*|\b(?:and|by|since|until) )when\b|\bwann\b|什么时候|何时",
    "number": rf"{HOW.pattern}|\b(?:what|which) (?:{_WORDS['what is counted']})\b"
    rf"|\bwie (?:{_WORDS['german sizes']})\b|多少钱?|多久|几[天次点个月年岁]",
    "path": rf"\bwhere\b.*\b(?:{_WORDS['places of files']})\b|\b(?:what|which) (?:{_WORDS['names of places']})\b"
    r"|\bwo\b.*\b(?:datei\w*|ordner|verzeichnis)\b",
    "procedure": r"\bhow (?:(?:do|can|could|should|must|would) (?:i|you|we|one)|to)\b"
    r"|\bwie (?:kann|muss|soll) (?:ich|man|wir)\b",
    "definition": r"\W*(?:what(?:'s| is| are| was| were)|was (?:ist|sind)) (?!(?:it|this|that|they|these|those)\b)"
    r"[^,;]+\Z|\bwhat (?:do|does) (?!(?:it|this|that|they|these|those)\b)[^,;]+ (?:do|mean)\W*\Z"
    r"|\btell me (?:more |something )?about |\bwho (?:is|are|was|were) (?!(?:the|he|she|it|they|this|that|your|my)\b)",
}
_COUNTED = rf"\d|[一二两三四五六七八九十百千半]|\b(?:{_WORDS['numbers']})\b"
_SAID: dict[Form, str] = {
    "time": rf"{_COUNTED}|\b(?:{_WORDS['times']})\b",
    "number": _COUNTED,
    "path": r"[\w~$%.-]*[/\\][\w.%$~-]+|(?<![\w.])\.?[\w-]+\.[a-z]{2,5}\b",
    "procedure": rf"`|\b(?:you|users?|one|ihr|sie|man) (?:{_WORDS['duties']})\b|\bby \w+ing\b|\busing\b"
    rf"|^\W*(?:\d+\W+)?(?:{_WORDS['instructions']})\b",
}
_ASKS = {form: re.compile(pattern, re.IGNORECASE) for form, pattern in _ASKED.items()}
_SAYS = {form: re.compile(pattern, re.IGNORECASE) for form, pattern in _SAID.items()}
_ARTICLE = re.compile(r"\W*(?:(?:an?|the|each|every|all|eine?|der|die|das)\s)?", re.IGNORECASE)
_SIGNS = re.compile(r"\(\d\w?\)|[\W_]+")
_NAMED = re.compile(
    r"\b(?:is|are|ist|sind) (?:an?|the|eine?|der|die|das) (.+?)(?:[,.;:!?]|\s(?:that|which|who)\b|\Z)"
)
_KIND = re.compile(rf"\A(?:{_WORDS['kinds']}) ")
_IS = re.compile(r"(?:is|are|was|were|means?|refers? to|stands? for|ist|sind|bedeutet)\b|[–—-] ")
_DOES = re.compile(r"[a-z]+s\b|(?:of|in|on|for|with|from|by|can|has|have|allow|let)\b")
_GOES_ON = re.compile(
    r"(?i)(?:and|or|(?:what|how) about|und|oder|et|y)\b(?! (?:who|where|why|which|what|is|are|do)\b)"
)


def leave_out_quantity(question: str) -> str:
    """A question without the words that ask for a number or a time: they are none to look for."""
    return _ASKS["number"].sub(" ", _ASKS["time"].sub(" ", question))


def tell_form(question: str, before: str = "") -> Form:
    """Tell what a question asks for; "And abroad?" asks for what the question before it does."""
    texts = (question, before) if _GOES_ON.match(question) else (question,)
    return next((form for text in texts for form, asks in _ASKS.items() if asks.search(text)), "")


def has_form(sentence: str, form: Form) -> bool:
    """Whether a sentence has the number or the path, or says what to do, where that is asked for."""
    return form not in _SAYS or _SAYS[form].search(sentence) is not None


def tell_definition(sentence: str, term: Set[str], language: str) -> float:
    """How far a sentence says what a thing is: 1 for "A kettle is a pot", "A kettle, a pot, ...",
    "This is a kettle".

    .75 where it says what the thing does ("Kettles of iron last longer", "The kettle boils water"),
    .5 for any other.

    Args:
        sentence: whose beginning counts.
        term: the stems of the thing's name.
        language: of the sentence.
    """
    named, seen, last = _NAMED.search(sentence), set[str](), ""
    if term and named and find_stems(named[1], language=language) == term:
        return 1.0
    words = _ARTICLE.sub("", sentence, 1).split()
    parts = term | find_stems(_SIGNS.sub(" ", " ".join(term)), language=language)
    while (
        words
        and not term <= seen
        and set() < find_stems(_SIGNS.sub(" ", words[0]), language=language) <= parts
    ):
        seen |= find_stems(words[0], language=language)
        last = words.pop(0)
    if not term or not term <= seen:
        return 0.5
    rest = _KIND.sub("", " ".join(words))
    return (
        1.0 if last.endswith((":", ",")) or _IS.match(rest) else 0.75 if _DOES.match(rest) else 0.5
    )
