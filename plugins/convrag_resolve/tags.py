"""Words with their part of speech, by closed word classes and the words around them; capitals are not needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from convrag_resolve.verbs import BASES, FORMS, MOSTLY_NOUNS
from convrag_resolve.vocabulary import (
    ADJECTIVE_ENDINGS,
    ADJECTIVES,
    ADVERBS,
    AUXILIARIES,
    BE,
    CONJUNCTIONS,
    DEMONSTRATIVES,
    DETERMINERS,
    DO,
    INTERJECTIONS,
    MODALS,
    NOT_ADVERBS_IN_LY,
    NUMBERS,
    PERSONAL,
    POSSESSIVES,
    PREPOSITIONS,
    QUESTION_WORDS,
    RELATIONAL_NOUNS,
    SPEAKERS,
)

Tag = Literal[
    "adj", "adv", "aux", "conj", "dem", "det", "intj", "name", "noun", "num", "poss", "prep", "pron", "punct",
    "'s", "speaker", "to", "verb", "wh",
]  # fmt: skip

OPEN: frozenset[Tag] = frozenset(("adj", "name", "noun", "num"))
"""Tags of the words that a noun phrase is made of."""

_CLITIC = r"['’](?:s|re|ll|ve|d|m)\b"
_TOKEN = re.compile(rf"\d+(?:[.,]\d+)+|\w+(?:[-.&/+#]\w+|(?!{_CLITIC})['’]\w+)*[+#]*|{_CLITIC}|[^\w\s]", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“”`]([^\"“”`\n]{2,60})[\"“”`]")
_SUBJECTS = frozenset(("i", "we", "they", "he", "she"))
_SENTENCE_ENDS = frozenset(".?!:;\n•")

_CLASSES: tuple[tuple[Tag, frozenset[str]], ...] = (
    ("poss", POSSESSIVES),
    ("pron", PERSONAL),
    ("dem", DEMONSTRATIVES),
    ("speaker", SPEAKERS),
    ("wh", QUESTION_WORDS),
    ("aux", AUXILIARIES),
    ("to", frozenset(("to",))),
    ("prep", PREPOSITIONS),
    ("conj", CONJUNCTIONS),
    ("det", DETERMINERS),
    ("num", NUMBERS),
    ("adv", ADVERBS),
    ("intj", INTERJECTIONS),
)
_CLASS_OF: dict[str, Tag] = {word: tag for tag, words in reversed(_CLASSES) for word in words}


@dataclass(frozen=True, slots=True)
class Token:
    """A word or mark: `text[start:end]`, in lower case, with its tag; `first` in its sentence or not."""

    text: str
    lower: str
    start: int
    end: int
    tag: Tag
    first: bool = False


def tag_words(text: str) -> list[Token]:
    """Split a text into words and marks, and tag them; its time grows with the text's length."""
    found = list(_TOKEN.finditer(text))
    quoted = [match.span(1) for match in _QUOTED.finditer(text)]
    words = [match[0] for match in found]
    ignore_capitals = _capitals_mean_nothing(words)
    tokens: list[Token] = []
    supported = False  # a "do" or a modal waits for its verb
    first = True
    quote = 0
    for place, match in enumerate(found):
        word, lower = match[0], match[0].lower().replace("’", "'")
        if "\n" in text[tokens[-1].end if tokens else 0 : match.start()]:
            first, supported = True, False
        while quote < len(quoted) and quoted[quote][1] <= match.start():
            quote += 1
        following = words[place + 1].lower().replace("’", "'") if place + 1 < len(words) else ""
        if quote < len(quoted) and quoted[quote][0] <= match.start() and (word[0].isalnum()):
            tag: Tag = "name"
        else:
            tag = _choose_tag(
                word, lower, tokens, following, supported=supported, first=first, ignore_capitals=ignore_capitals
            )
        if tag == "aux" and (lower in DO or lower in MODALS):
            supported = True
        elif tag == "verb" or (tag in ("punct", "conj", "wh") and lower != ","):
            supported = False
        tokens.append(Token(word, lower, match.start(), match.end(), tag, first))
        first = word in _SENTENCE_ENDS or (first and tag in ("punct", "num"))
    return tokens


def _capitals_mean_nothing(words: Sequence[str]) -> bool:
    """Whether a text is in capitals, or in Title Case: then they do not tell names."""
    known = [word for word in words[1:] if word.lower() in _CLASS_OF and len(word) > 1]
    letters = [word for word in words if word[0].isalpha()]
    return sum(word[0].isupper() for word in known) > 0.6 * len(known) > 1 or (
        len(letters) > 2 and all(word.isupper() for word in letters)
    )


def _choose_tag(
    word: str,
    lower: str,
    before: Sequence[Token],
    following: str,
    *,
    supported: bool,
    first: bool,
    ignore_capitals: bool,
) -> Tag:
    previous = before[-1] if before and not first else None
    if lower == "'s":
        owner = previous is not None and previous.tag in ("noun", "name")
        return "'s" if owner and following and _CLASS_OF.get(following) in (None, "num") else "aux"
    if not word[0].isalnum() and lower not in _CLASS_OF:
        return "punct"
    capital = word[0].isupper() and not ignore_capitals
    if capital and len(word) > 1 and word.isupper() and lower != "i":
        return "name"  # US, IT
    if capital and not first and (lower in MODALS or lower not in _CLASS_OF):
        return "name"
    if lower in ("her", "his") and (not following or _CLASS_OF.get(following) not in (None, "num")):
        return "pron"
    if lower in ADJECTIVES and previous is not None and previous.tag in ("det", "poss", "'s", "dem"):
        return "adj"
    if known := _CLASS_OF.get(lower):
        return known
    if word[0].isdigit() and (lower[-1].isdigit() or lower.endswith(("st", "nd", "rd", "th", "s"))):
        return "num"  # "401k" is a noun
    if lower.endswith("ly") and len(lower) > 4 and lower not in NOT_ADVERBS_IN_LY:
        return "adv"
    if lower in FORMS and _is_verb(lower, previous, following, supported=supported):
        return "verb"
    if (
        first
        and following in ("me", "us", "the", "a", "an", "my", "your")
        and lower not in ADJECTIVES
        and not lower.endswith("s")
    ):
        return "verb"  # an imperative: "Excuse me"
    if lower in ADJECTIVES or lower.endswith(ADJECTIVE_ENDINGS):
        return "adj"
    return "verb" if previous is not None and _ends_phrase(previous, following, supported=supported) else "noun"


def _ends_phrase(previous: Token, following: str, *, supported: bool) -> bool:
    """Whether an unknown word is a verb: "how do i renew it", "does a beagle bark a lot", "do bees hum?"."""
    takes_object = _CLASS_OF.get(following) in ("det", "poss", "pron", "speaker", "dem")
    if previous.lower in _SUBJECTS or (previous.tag == "to" and takes_object):
        return True
    if not supported or previous.tag not in ("noun", "name"):
        return False
    if takes_object:
        return True
    return previous.lower.endswith("s") and not following[:1].isalnum()


def _is_verb(lower: str, previous: Token | None, following: str, *, supported: bool) -> bool:
    """Whether a form of a verb is one here."""
    starts_phrase = _CLASS_OF.get(following) in ("det", "poss", "pron", "speaker", "dem", "wh")
    if following == "of" and (lower in MOSTLY_NOUNS or lower in RELATIONAL_NOUNS):
        return False
    if previous is None and (starts_phrase or (lower.endswith("ing") and _CLASS_OF.get(following) == "prep")):
        return True
    if previous is None or previous.tag in ("conj", "intj", "punct"):
        return lower in BASES and (lower not in MOSTLY_NOUNS or starts_phrase or following not in ("", "?", "."))
    tag = previous.tag
    if tag in ("to", "speaker", "pron", "adv", "verb"):
        return tag != "verb" or lower not in MOSTLY_NOUNS
    if tag == "aux":
        return previous.lower not in BE or lower.endswith(("ed", "ing", "en", "t", "n", "d"))
    if tag == "dem":
        is_third = previous.lower in ("this", "that") and lower.endswith("s") and lower not in MOSTLY_NOUNS
        return (supported and lower in BASES) or is_third
    if tag == "prep" and lower.endswith("ing"):
        return starts_phrase  # "by freezing the dough"
    if tag in ("det", "poss", "'s", "prep", "num"):
        return False
    if tag == "adj":
        closes = _CLASS_OF.get(following) is not None or not following[:1].isalnum()
        return (supported and lower in BASES and lower not in MOSTLY_NOUNS) or (lower.endswith("ed") and closes)
    if tag == "wh":
        return lower not in MOSTLY_NOUNS or starts_phrase
    if supported:
        return lower in BASES
    if _CLASS_OF.get(following) == "aux" or (lower in BASES and tag == "noun" and not previous.lower.endswith("s")):
        return False  # "climate change is": a verb would agree with its subject, and no other one would follow
    return lower not in MOSTLY_NOUNS or starts_phrase
