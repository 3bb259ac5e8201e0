"""The utterances of a history, and weights for their words that do not grow with their length."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import sqrt
from typing import NamedTuple

from convrag import Question, Turn
from convrag.sdk.text.analysis import find_content_words, split_words

Split = Callable[[str], Sequence[str]]
"""Splits a text into its words."""


RULE_TURNS = 50
"""The last turns that a rule reads: a mention before them would weigh under 2**-50 of one in the
last."""


def shorten_for_rule(question: Question) -> Question:
    """Return a question whose history has its first turn, which introduces the topic, and the last
    50.

    So the time of a turn does not grow with a conversation that only a rule reads.
    """
    history = question.history
    if len(history) <= RULE_TURNS + 1:
        return question
    return replace(question, history=(history[0], *history[-RULE_TURNS:]))


class Utterance(NamedTuple):
    """A question or an answer of the history, its words, and what it counts beside the others."""

    text: str
    words: Sequence[str]
    share: float


def list_utterances(turns: Sequence[Turn], split: Split, decay: float) -> list[Utterance]:
    """List the questions and answers that have words.

    Args:
        turns: newest first.
        split: splits an utterance into words.
        decay: the share of a turn, as a share of that of the turn after it.
    """
    utterances = []
    for age, turn in enumerate(turns):
        for text in (turn.question, turn.answer):
            words = split(text)
            if words:
                utterances.append(Utterance(text, words, decay**age))
    return utterances


def share_weight(utterances: Sequence[Utterance], weight: float) -> Iterator[tuple[str, float]]:
    """Yield the words of each utterance as a text, and the weight of each of these words.

    The weight is that of all utterances together, as the length of a vector: n different words of
    weight 1 have length sqrt(n), so a long answer counts no more than a short question.
    """
    total = sum(utterance.share for utterance in utterances)
    for _, words, share in utterances:
        yield " ".join(words), weight * share / total / compute_vector_length(words)


def split_stop_words(question: str, stop_words: float) -> list[tuple[str, float]]:
    """Return weighted texts in which a question's stop words weigh less than its other words.

    Args:
        question: its content words weigh 1.
        stop_words: the weight of the others. A question of one kind of words alone weighs 1.
    """
    content_words = list_content_words(question)
    has_both = 0 < len(content_words) < len(split_words(question))
    if not has_both:
        return [(question, 1.0)]
    return [(question, stop_words), (" ".join(content_words), 1 - stop_words)]


def list_content_words(text: str) -> list[str]:
    """List the words of a text that are no stop words of its language."""
    return [word.text for word in find_content_words(text)]


def compute_vector_length(words: Iterable[str]) -> float:
    """Compute the length of a vector in which each different word has weight 1."""
    return sqrt(len({word.lower() for word in words}))
