"""A summary without a language model: the sentences of answers that say most, kept to a number of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from convrag import Turn
from convrag.sdk.sentences import split_sentences
from convrag.sdk.words import find_stems

SENTENCES = 3
"""The most sentences of one turn: a few say what a long answer is about."""

SHORTEST, LONGEST = 4, 60
"""Words of a sentence that may be taken: shorter ones say little, longer ones are tables and lists."""


class Extract(NamedTuple):
    """A sentence of an answer: its score, the number of its turn (from 0), and its place in the answer."""

    score: float
    turn: int
    place: int
    text: str


def extract_sentences(turns: Sequence[Turn], first: int) -> list[Extract]:
    """The sentences of turns that say most, in order, at most SENTENCES of each turn.

    A sentence's score is Luhn's (1958): the square of the number of its significant words, divided by the number of all
    its words. Significant are the content words of the question that it answers, and those that at least two sentences
    of these turns have.

    Args:
        turns: oldest first.
        first: the number of the first of them in the conversation.
    """
    said = [[(text, find_stems(text)) for text in dict.fromkeys(split_sentences(_find_source(turn)))] for turn in turns]
    common = Counter(stem for sentences in said for _, stems in sentences for stem in stems)
    repeated = {stem for stem, count in common.items() if count > 1}
    found: list[Extract] = []
    for number, (turn, sentences) in enumerate(zip(turns, said, strict=True), first):
        significant = repeated.union(find_stems(turn.question))
        scored = [
            Extract(round(len(stems & significant) ** 2 / words, 6), number, place, text)
            for place, (text, stems) in enumerate(sentences)
            if SHORTEST <= (words := len(text.split())) <= LONGEST
        ]
        best = sorted(scored, key=lambda each: (-each.score, each.place))[:SENTENCES]
        found += sorted((each for each in best if each.score), key=lambda each: each.place)
    return found


def keep_best(extracts: Iterable[Extract], words: int) -> list[Extract]:
    """The best extracts that have so many words together, in order; of equal ones the newer one.

    Each turn's best sentence comes before the second one of any other turn, so that all topics are kept as long as
    there is room.
    """
    by_turn: dict[int, list[Extract]] = {}
    for each in extracts:
        by_turn.setdefault(each.turn, []).append(each)
    ranked = [
        (rank, each)
        for found in by_turn.values()
        for rank, each in enumerate(sorted(found, key=lambda each: (-each.score, each.place)))
    ]
    kept: list[Extract] = []
    for _, each in sorted(ranked, key=lambda pair: (pair[0], -pair[1].score, -pair[1].turn)):
        if (size := len(each.text.split())) <= words:
            kept.append(each)
            words -= size
    return sorted(kept, key=lambda each: (each.turn, each.place))


def _find_source(turn: Turn) -> str:
    """The text of which sentences are taken: the answer, and the question where there is none."""
    return turn.answer if turn.answer.strip() else turn.question
