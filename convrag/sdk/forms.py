"""What a question asks for, by its form, and whether a sentence has that: a number, a path, or what a thing is."""

import re
from collections.abc import Set
from typing import Literal

from convrag.sdk.words import HOW, find_content_words

Form = Literal["", "number", "path", "procedure", "definition"]
"""A number or a time ("how long", "when"); a path or an address ("where is the file"); what to do ("how do I"); what a
thing is; or anything."""

QUANTITY = re.compile(
    rf"{HOW.pattern}|\bwhen\b|\b(?:what|which) (?:time|year|day|date|month|age|number|price|percentage|version)\b"
    r"|\bwie (?:viel\w*|lange|oft|hoch|groß|weit|alt|teuer)\b|\bwann\b|多少钱?|多久|几[天次点个月年岁]|什么时候|何时",
    re.IGNORECASE,
)
"""What asks for a number or a time; no word to look for."""

_FILE = re.compile(
    r"\bwhere\b.*\b(?:files?|folder|director\w+|config\w*|cache|logs?|stored?|saved?|kept|keep|path)\b"
    r"|\b(?:what|which) (?:file|folder|directory|path|url|address)\b|\bwo\b.*\b(?:datei\w*|ordner|verzeichnis)\b",
    re.IGNORECASE,
)
_THING = re.compile(
    r"\W*(?:what(?:'s| is| are| was| were)|was (?:ist|sind)) (?!(?:it|this|that|they|these|those)\b)[^,;]+\Z",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"\bhow (?:(?:do|can|could|should|must|would) (?:i|you|we|one)|to)\b|\bwie (?:kann|muss|soll|mache) (?:ich|man|wir)\b",
    re.IGNORECASE,
)
_ASKED: dict[Form, re.Pattern[str]] = {"number": QUANTITY, "path": _FILE, "procedure": _STEPS, "definition": _THING}
_GOES_ON = re.compile(
    r"(?:and|or|what about|how about|und|oder|et|y)\b(?! (?:who|where|why|which|what|is|are|do)\b)", re.I
)
_HAS: dict[Form, re.Pattern[str]] = {
    "number": re.compile(
        r"\d|[一二两三四五六七八九十百千半]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|hundred|thousand|"
        r"million|half|twice|once|every|daily|weekly|monthly|yearly|hourly|always|never|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|"
        r"jan\w*|feb\w*|march|april|may|june|july|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|\w+zig)\b",
        re.IGNORECASE,
    ),
    "procedure": re.compile(
        r"\b(?:you|users?|one|ihr|sie|man) (?:can|could|must|should|have to|need to|kann|muss|können|müssen|sollte)\b|\b(?:by|using) \w+ing\b|\busing\b|`"
        r"|^\W*(?:to \w+|if you want|(?:\d+\W+)?(?:first|then|next|just|simply|please|add|apply|ask|call|check|choose|click|configure|copy|create|define|delete|drag|enable"
        r"|enter|fill|go to|install|log|make|open|pass|press|put|remove|run|save|select|send|set|specify|start|submit|turn|type|update|use|visit|write)\b)",
        re.IGNORECASE,
    ),
    "path": re.compile(r"[\w~$%.-]*[/\\][\w.%$~-]+|(?<![\w.])\.?[\w-]+\.[a-z]{2,5}\b"),
}
_IS = re.compile(r"\b(?:is|are|was|were|means?|refers? to|stands? for|ist|sind|bedeutet)\b|\s[–—-]\s|:\s", re.I)
_CLAUSE = re.compile(r"[,.;:!?]|\b(?:that|which|who|where)\b")


def tell_form(question: str, before: str = "") -> Form:
    """Tell what a question asks for; "And abroad?" asks for what the question before it does."""
    for text in (question, before) if _GOES_ON.match(question) else (question,):
        for form, asks in _ASKED.items():
            if asks.search(text):
                return form
    return ""


def has_form(sentence: str, form: Form) -> bool:
    """Whether a sentence has the number or the path that is asked for."""
    return form not in _HAS or _HAS[form].search(sentence) is not None


def says_what_it_is(sentence: str, term: Set[str], language: str) -> bool:
    """Whether a sentence says of a thing what it is: "A kettle is a ...", "This is a kettle, which ...".

    Args:
        sentence: may be long: its first verb counts.
        term: the stems of the thing's name.
        language: of the sentence.
    """
    if not (verb := _IS.search(sentence)):
        return False
    sides = sentence[: verb.start()], _CLAUSE.split(sentence[verb.end() :], 1)[0]
    head, tail = ({word.stem for word in find_content_words(side, language)} for side in sides)
    return tail == term or (term <= head and len(head) <= len(term) + 1)
