"""Mentions: noun phrases that may be said again, with their number and person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from convrag.sdk.stemming import stem_words
from convrag_resolve.noun_phrases import NounPhrase, Role, list_content
from convrag_resolve.tags import Token
from convrag_resolve.vocabulary import (
    ARTICLES,
    DEMONSTRATIVES,
    FEMALE_NOUNS,
    IRREGULAR_PLURALS,
    LOCATIVE,
    MALE_NOUNS,
    PERSON_NOUNS,
    PLACE_NOUNS,
    RELATIONAL_NOUNS,
    SINGULAR_IN_S,
    SPEAKERS_POSSESSIVES,
    TIME_NOUNS,
    TITLES,
    split_words,
)

_ACRONYMS = re.compile(r"[A-Z]{2,}s$")  # APIs
_EMPTY = split_words(
    "thing things way ways kind kinds sort sorts type types lot lots bit something question questions answer"
    " answers example examples information info detail details reason fact case idea problem term word words"
    " number people person one ones option options topic subject point part place time times name tips"
    " advice overview facts"
)
"""Heads of phrases that name nothing by themselves."""

_KEPT = ARTICLES | SPEAKERS_POSSESSIVES
_DEFINITE = DEMONSTRATIVES | split_words("the my our")


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun phrase as it may be said again: `text` with its article, `stems` of its content words, its head last.

    `plural`, `person` and `female` are None where the words do not tell.
    """

    text: str
    stems: tuple[str, ...]
    head: str
    role: Role
    sentence: int
    plural: bool | None
    person: bool | None
    female: bool | None
    place: bool
    name: bool
    definite: bool
    asked: bool = False
    name_only: bool = False


def make_mention(text: str, tokens: Sequence[Token], phrase: NounPhrase, *, whose: str = "") -> Mention | None:
    """Make a mention of a noun phrase; None of one that names nothing ("a lot", "this morning", "which one").

    Args:
        text: what the tokens are of.
        tokens: all of the text.
        phrase: one of its noun phrases.
        whose: "who" where the phrase stands in a question for a person ("who was Ada Lovelace?").
    """
    content = list(list_content(tokens, phrase))
    words = [token for token in content if token.tag in ("noun", "name")]
    if not words or len(content) > 8:
        return None
    head = words[-1].lower
    lowers = [token.lower for token in content]
    name = any(token.tag == "name" for token in content)
    if (head in _EMPTY and len(lowers) < 3 and not name) or (head in TIME_NOUNS and len(lowers) == 1):
        return None
    opening = tokens[phrase.first]
    plural = True if _ACRONYMS.match(words[-1].text) else find_number(head, name=name, has_article=opening.tag == "det")
    person, female = _find_person(tokens, phrase, lowers, head, name=name)
    return Mention(
        _write(text, tokens, phrase, is_common=not name and (bool(plural) or len(content) > 1)),
        tuple(stem_words(lowers)),
        head,
        phrase.role,
        phrase.sentence,
        plural,
        True if whose == "who" and person is None else person,
        female,
        head in PLACE_NOUNS or (name and phrase.prepositional in LOCATIVE and person is not True),
        name,
        opening.lower in _DEFINITE or name,
        phrase.asked,
        all(token.tag == "name" for token in content),
    )


def _write(text: str, tokens: Sequence[Token], phrase: NounPhrase, *, is_common: bool) -> str:
    """A phrase as it is said again: with "the", "a" and "my", not "any" or "these", and as within a sentence."""
    first = phrase.first
    while first < phrase.last - 1 and tokens[first].tag in ("det", "dem", "poss") and tokens[first].lower not in _KEPT:
        first += 1
    written = " ".join(text[tokens[first].start : tokens[phrase.last - 1].end].split())
    opens_sentence = tokens[first].first and is_common and not tokens[first].text[1:2].isupper()
    return written[0].lower() + written[1:] if tokens[first].lower in ARTICLES or opens_sentence else written


def find_number(head: str, *, name: bool = False, has_article: bool = False) -> bool | None:
    """Whether a noun is plural; None where its form does not tell ("paris", "sheep")."""
    if head in IRREGULAR_PLURALS:
        return True
    if head in SINGULAR_IN_S or not head.endswith("s") or head.endswith(("ss", "us", "is", "ics")):
        return None if head in ("species", "series", "data", "media", "fish", "sheep") else False
    return None if name and not has_article else True


def _find_person(
    tokens: Sequence[Token], phrase: NounPhrase, lowers: Sequence[str], head: str, *, name: bool
) -> tuple[bool | None, bool | None]:
    """Whether a phrase names a person, and a woman; None where its words do not tell."""
    words = {*lowers}
    female = True if words & FEMALE_NOUNS else False if words & MALE_NOUNS else None
    if head.rstrip("s") in PERSON_NOUNS or lowers[0].rstrip(".") in TITLES:
        return True, female
    article = tokens[phrase.first].lower in ARTICLES or tokens[phrase.first].tag in ("poss", "dem")
    if head in PLACE_NOUNS or phrase.prepositional in ("in", "at") or (article and head in RELATIONAL_NOUNS):
        return False, None
    if article and not head.endswith(("er", "or", "ist", "ian")):
        return False, None
    if any(not word.isalpha() for word in lowers) or (not name and len(lowers) == 1):
        return (None if head.endswith(("er", "or", "ist", "ian")) else False), None
    return None, None
