"""Whether a follow-up has several readings, by rules for English: what it leaves open, and what may be meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from convrag import Turn
from convrag_queries.alternatives import (
    Alternatives,
    find_listed,
    find_own_stems,
    find_parallel,
    find_people,
    find_side_by_side,
    find_topic,
)
from convrag_queries.phrases import find_phrases, split_tokens, stem_phrase
from convrag_queries.references import Reference, find_reference, insert_meaning

DECAY = 0.5
"""Weight of a mention against one in the next exchange."""

LEAST_SHARE = 0.5
"""The least weight of what may be meant, as a share of the heaviest."""

LONGEST = 2000
"""Characters of an utterance that the rules read."""

_ORDINAL = re.compile(
    r"\bthe\s+(?:first|second|third|fourth|fifth|last|former|latter)\b(?:\s+one\b|\s*[?.!]|$)|\b(?:former|latter)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\bwhich\s+(?:one|ones|is|are|of|was|were|has|do|does|should|would)\b", re.IGNORECASE)
_TOGETHER = re.compile(
    r"\b(?:the two|both|each other|between them|of them|which of|in common|alike|differ|compare)\b", re.IGNORECASE
)
_NAMES_TOPIC = re.compile(
    r"^\W*(?:what|who)(?:['’]s|\s+(?:is|are|was|were))\s+(?!the\b)|more about\s+(?!the\b)", re.IGNORECASE
)
_ELLIPSIS = re.compile(
    r"^\W*(?:ok(?:ay)?,?\s+)?(?:and|so|but)?\s*(?:(?:what|how) about|and)\s+(?P<rest>[^?]+)$", re.IGNORECASE
)


class Reading(NamedTuple):
    """One way to understand a question, written out, and its weight."""

    text: str
    weight: float


class Finding(NamedTuple):
    """What the rules found: why the question is or is not ambiguous, what may be meant, and its readings.

    `readings` are the heaviest first, their weights add up to 1; there are at least two of an ambiguous question, and
    none of another.
    """

    reason: str
    why: str = ""
    candidates: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()

    @property
    def is_ambiguous(self) -> bool:
        """Whether there are several readings."""
        return len(self.readings) > 1


def find_readings(question: str, turns: Sequence[Turn], short: int) -> Finding:
    """Say whether a question has several readings after these turns, oldest first.

    Args:
        question: as the user typed it.
        turns: the exchanges in which what it refers to is looked for.
        short: a question without a reference back is incomplete with fewer content words.
    """
    if not turns:
        return Finding("first_question")
    if len(question) > LONGEST:
        return Finding("standalone")
    turns = [replace(each, question=each.question[:LONGEST], answer=each.answer[:LONGEST]) for each in turns]
    if frames := _read_frames(question, turns):
        return Finding("ellipsis", "two earlier questions can be continued so", (), frames)
    reference = find_reference(question)
    if _ORDINAL.search(question):
        return Finding("ordinal")
    if not reference and not _is_incomplete(question, short):
        return Finding("standalone")
    own = stem_phrase(question)
    for found in _list_alternatives(turns, reference):
        if any(stem_phrase(each) <= own or find_own_stems(each, found.phrases) & own for each in found.phrases):
            return Finding("named", found.why, found.phrases)
        plural = reference and reference.kind == "plural" and not found.one_by_one
        if plural or _TOGETHER.search(question) or _CHOICE.search(question):
            return Finding("all_of_them", found.why, found.phrases)
        weighed = _weigh(found.phrases, turns)
        if len(weighed) > 1:
            readings = tuple(Reading(insert_meaning(question, reference, each), weight) for each, weight in weighed)
            return Finding("reference" if reference else "incomplete", found.why, found.phrases, readings)
    return Finding("one_antecedent" if reference else "one_topic")


def _list_alternatives(turns: Sequence[Turn], reference: Reference | None) -> Iterator[Alternatives]:
    """What stands side by side in the turns, the likeliest first.

    What an older exchange puts side by side counts only while the newer ones speak of at least two of it.
    """
    if reference and reference.kind == "person":
        if people := find_people(turns):
            yield people
        return
    said: list[frozenset[str]] = []
    for turn in reversed(turns):
        for found in (find_side_by_side(turn), find_listed(turn) if reference else None):
            if found and all(sum(stem_phrase(each) <= newer for each in found.phrases) > 1 for newer in said):
                yield found
        said.append(stem_phrase(f"{turn.question} {turn.answer}"))
    if len(turns) > 1 and (found := find_parallel(turns[-2], turns[-1])):
        yield found


def _is_incomplete(question: str, short: int) -> bool:
    """Whether a question without a reference leaves open what it is about: short, and it names no topic of its own."""
    tokens = [token for token in split_tokens(question) if not token.is_mark]
    content = [token for token in tokens if token.is_content]
    names = any(each.is_capitalised and (each is not tokens[0] or len(content) == len(tokens)) for each in content)
    return len(content) < short and not names and not _NAMES_TOPIC.search(question)


def _read_frames(question: str, turns: Sequence[Turn]) -> tuple[Reading, ...]:
    """The two questions that "What about B?" may ask, where the last one asked on about what the one before named.

    "Who built A?", "How tall is it?", "What about B?": "How tall is B?" or "Who built B?".
    """
    match = _ELLIPSIS.match(question.rstrip(" ?.!"))
    if not match or len(turns) < 2:
        return ()
    rest = split_tokens(match["rest"])
    (phrase, *others) = find_phrases(rest) or [""]
    if not phrase or others or len(rest) != len(phrase.split()):  # "the price today" is no other thing, but an aspect
        return ()
    earlier, last = turns[-2].question, turns[-1].question
    reference, topic = find_reference(last), find_topic(earlier)
    if not reference or not topic or find_reference(earlier):
        return ()
    # "the Eiffel Tower" becomes "Big Ben", and "the cat" becomes "the dog"
    named = rf"\b(?:the\s+)?{re.escape(topic)}" if phrase[0].isupper() else re.escape(topic)
    other = re.sub(named, lambda _: phrase, earlier, count=1, flags=re.IGNORECASE)
    texts = (insert_meaning(last, reference, phrase), other)
    total = 1 + DECAY
    return tuple(Reading(text, weight / total) for text, weight in zip(texts, (1, DECAY), strict=True))


def _weigh(phrases: Sequence[str], turns: Sequence[Turn]) -> list[tuple[str, float]]:
    """The phrases that may be meant with their weights, heaviest first: how often each is named, the newer the more.

    A phrase that is named in less than LEAST_SHARE of what the first one has is not meant.
    """
    said = [(age, turn) for age, turn in enumerate(reversed(turns))]
    texts = [(DECAY**age, stem_phrase(text)) for age, turn in said for text in (turn.question, turn.answer)]
    weights = []
    for phrase in phrases:
        stems = find_own_stems(phrase, phrases)
        named = sum(weight for weight, words in texts if stems & words)
        weights.append((phrase, named or DECAY ** len(turns)))
    weights.sort(key=lambda each: -each[1])
    kept = [(phrase, weight) for phrase, weight in weights if weight >= LEAST_SHARE * weights[0][1]]
    total = sum(weight for _, weight in kept)
    return [(phrase, weight / total) for phrase, weight in kept]
