"""Definite phrases: "the tower" for a tower that was named in full, and "the population", which is of something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from convrag_resolve.conversation import SaidSoFar
from convrag_resolve.demonstratives import find_named
from convrag_resolve.entities import is_same
from convrag_resolve.links import Link
from convrag_resolve.noun_phrases import NounPhrase
from convrag_resolve.reading import Reading
from convrag_resolve.vocabulary import RELATIONAL_NOUNS, SPEAKERS_POSSESSIVES, split_words

_UNIQUE = split_words("world earth sun moon sky universe internet web future past present public media environment")
_COMPLEMENTS = split_words(
    "of in for to between on with about from by at against that who which when where during behind around like"
)


def find_definites(reading: Reading, said: SaidSoFar) -> Iterator[Link]:
    """Write a definite phrase in full, where a longer name with the same noun is the only one that was said."""
    for phrase, mention in reading.list_mentions():
        first = reading.tokens[phrase.first].lower
        if (
            first != "the"
            or len(mention.stems) > (1 if mention.name else 2)
            or mention.head in RELATIONAL_NOUNS | _UNIQUE
        ):
            continue
        if phrase.last < len(reading.tokens) and reading.tokens[phrase.last].lower in (
            "of",
            "'s",
            "that",
            "who",
            "which",
        ):
            continue
        if sum(1 for _, other in reading.list_mentions() if other.head == mention.head) > 1:
            continue
        if any(set(entity.mention.stems) == set(mention.stems) for entity in said.entities):
            continue
        named = find_named(mention, said)
        if named is None or (mention.name and named.mention.head != mention.head):
            continue
        if named.mention.text.lower() == reading.write(phrase).lower():
            continue
        if named.mention.plural is not None and mention.plural != named.mention.plural:
            continue
        by_type = mention.head in named.types and not set(mention.stems) <= set(named.mention.stems)
        if not by_type and len(named.mention.stems) <= len(mention.stems):
            continue
        start, end = reading.tokens[phrase.first].start, reading.tokens[phrase.last - 1].end
        rule = "what it was said to be" if by_type else "the same noun"
        name = named.mention.text
        if name.startswith(("a ", "an ")):
            name = "the " + name.split(" ", 1)[1]
        yield Link("definite", reading.write(phrase), named.mention.text, named.turn_id, rule, start, end, name)


def find_bridge(reading: Reading, said: SaidSoFar) -> Link | None:
    """Say whose "the population" is, where the question names nothing else: "the population of Oslo".

    A relational noun needs its other half (Clark 1975 calls the inference a bridge).
    """
    relational = [phrase for phrase in reading.phrases if _is_open(reading, phrase)]
    topic = said.find_topic()
    if not relational or topic is None or _names_something(reading, relational):
        return None
    phrase = relational[0]
    for other in relational[1:]:  # "the pros and cons"
        if [token.lower for token in reading.tokens[phrase.last : other.first]] == ["and"]:
            phrase = other
    head = reading.tokens[phrase.last - 1]
    written = reading.write(phrase)
    mentions = [mention for _, mention in reading.list_mentions()]
    if any(is_same(mention, topic.mention) for mention in mentions) or head.lower in topic.mention.text.lower():
        return None
    start = reading.tokens[phrase.first].start
    name = topic.mention.text
    preposition = "to" if head.lower.startswith("alternative") else "of"
    return Link(
        "definite", written, name, topic.turn_id, "of the topic", start, head.end, f"{written} {preposition} {name}"
    )


def _is_open(reading: Reading, phrase: NounPhrase) -> bool:
    """Whether a phrase has a relational noun, without what it is of."""
    tokens = reading.tokens
    if tokens[phrase.last - 1].lower not in RELATIONAL_NOUNS:
        return False
    if any(token.tag in ("'s", "poss", "name", "dem") for token in tokens[phrase.first : phrase.last]):
        return False
    if tokens[phrase.first].lower in {"a", "an"} | SPEAKERS_POSSESSIVES:
        return False
    if phrase.last - phrase.first > 3 or (tokens[phrase.first].tag == "noun" and phrase.last - phrase.first > 1):
        return False
    return phrase.last >= len(tokens) or tokens[phrase.last].lower not in _COMPLEMENTS


def _names_something(reading: Reading, relational: Iterable[NounPhrase]) -> bool:
    """Whether a question has a phrase of its own besides relational ones, or speaks of the speakers."""
    known = {phrase.first for phrase in relational}
    others = [phrase for phrase, _ in reading.list_mentions() if phrase.first not in known]
    return bool(others) or any(
        token.lower in ("i", "me", "my", "you", "your") and not _is_request(reading, place)
        for place, token in enumerate(reading.tokens)
    )


def _is_request(reading: Reading, place: int) -> bool:
    """Whether "me" and "you" belong to a polite request: "can you tell me", "do you know"."""
    near = {token.lower for token in reading.tokens[max(0, place - 2) : place + 3]}
    return bool(near & {"tell", "give", "explain", "know", "list", "show", "describe", "summarize", "provide"})
