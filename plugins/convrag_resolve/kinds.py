"""The words "one" and "ones" for a thing of a kind: "a cheaper one", said of plans, is "a cheaper plan"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from convrag_resolve.conversation import SaidSoFar
from convrag_resolve.entities import Entity
from convrag_resolve.links import Link
from convrag_resolve.ordinals import ORDINALS
from convrag_resolve.reading import Reading
from convrag_resolve.vocabulary import ARTICLES, SPEAKERS_POSSESSIVES

_DETERMINED = r"(?:this|that|another|other|the(?:\s+\w+){1,2}|an?(?:\s+\w+){1,2}|any\s+\w+|some(?:\s+\w+)?)"
_WANTED = r"(?:need|want|get|buy|have|make|use|find|rent|order|book|take|apply for)"
_FOLLOWING = r"in|for|on|with|is|are|do|does|did|that|to|from|and|or|as|made"
_ONE = re.compile(
    rf"\b(?:{_DETERMINED}\s+(ones?)|{_WANTED}\s+(one))(?=\s*(?:$|[?.!,;]|(?:{_FOLLOWING})\b))", re.IGNORECASE
)
_OTHERS = frozenset(("no", "every", "some", "any", "each", "last", "other", *ORDINALS))


def find_kinds(reading: Reading, said: SaidSoFar) -> Iterator[Link]:
    """Write the noun for "one" and "ones": "a cheaper one" is "a cheaper plan"."""
    for match in _ONE.finditer(reading.text):
        group = 1 if match[1] else 2
        before = reading.text[match.start() : match.start(group)].lower().split()
        if before and (before[-1] in _OTHERS):
            continue
        if any(phrase.sentence < _count_sentences(reading, match.start()) for phrase in reading.phrases):
            continue  # "I saw a tent. Should I buy one?"
        if (kind := _find_kind(said)) is None:
            continue
        plural = match[group].lower() == "ones"
        noun = _inflect(kind.mention.text.split(), kind, plural=plural)
        written = noun if group == 1 else f"a {noun}"
        start, end = match.span(group)
        yield Link("one", match[group], kind.mention.text, kind.turn_id, "the last noun", start, end, written)


def _count_sentences(reading: Reading, start: int) -> int:
    """The number of the sentence at a place, from 0."""
    return sum(token.first for token in reading.tokens[1:] if token.start <= start)


def _find_kind(said: SaidSoFar) -> Entity | None:
    """The most salient thing that has a common noun: of names there is only one each."""
    ranked = said.rank_entities(
        lambda entity: 0.0 if entity.mention.name or entity.mention.person else (0.5 if entity.mention.asked else 1.0)
    )
    return ranked[0][1] if ranked else None


def _inflect(words: list[str], kind: Entity, *, plural: bool) -> str:
    if words[0].lower() in ARTICLES | SPEAKERS_POSSESSIVES and len(words) > 1:
        words = words[1:]
    noun = " ".join(words)
    is_plural = kind.mention.plural is True
    if plural and not is_plural and not noun.endswith("s"):
        return noun + "s"
    if not plural and is_plural and noun.endswith("s"):
        return noun[:-3] + "y" if noun.endswith("ies") else noun[:-1]
    return noun
