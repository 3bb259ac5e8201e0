"""`rewriter=blend`: the question, and earlier utterances with small weights, without an LLM."""

import re
from collections.abc import Iterable
from math import sqrt

from convrag import ConfigError, Query, Question, Rewrite, Rewriter

_WORD = re.compile(r"\w+")


class BlendRewriter(Rewriter):
    """Search for the question and, with small weights, for the last questions and answers: no LLM is called.

    Rocchio's formula, with earlier utterances in the place of relevant passages: the query's vector is that of the
    question plus a weighted mean of the utterances' vectors, which the retriever adds up in its own way. All vectors
    are scaled to the length of the question's: a text of n different words of equal weight has a vector of length
    sqrt(n), so its weight is divided by that. So a long answer counts no more than a short question, no words are
    selected, and the rarity of words is left to the retriever.

    Args:
        weight: that of all earlier utterances together; the question's is 1.
        decay: the weight of an exchange as a share of that of the exchange after it.
        exchanges: how many of the last exchanges are used; with decay=.5 a fifth would have less than a thirtieth of
            their weight.

    Raises:
        ConfigError: a parameter is out of range.
    """

    def __init__(self, *, weight: float = 0.5, decay: float = 0.5, exchanges: int = 4) -> None:
        if weight <= 0:
            raise ConfigError(f"rewriter.weight={weight}: it must be above 0; rewriter=none leaves the history out")
        check_decay(decay, exchanges)
        self.weight = weight
        self.decay = decay
        self.exchanges = exchanges

    def rewrite(self, question: Question) -> Rewrite:
        """The question, then the utterances, newest exchange first."""
        turns = question.history[: -self.exchanges - 1 : -1]
        aged = [(text, age) for age, turn in enumerate(turns) for text in (turn.question, turn.answer)]
        utterances = [(text, self.decay**age) for text, age in aged if _vector_length(text)]
        total = sum(share for _, share in utterances)
        length = _vector_length(question.text) or 1.0
        blended = (
            Query(text, self.weight * share / total * length / _vector_length(text)) for text, share in utterances
        )
        selected = [turn.id for turn in reversed(turns)]
        return Rewrite((Query(question.text), *blended), {"selected": selected})


def check_decay(decay: float, exchanges: int) -> None:
    """Raises ConfigError: a number is out of range."""
    if not 0 < decay <= 1 or exchanges < 1:
        raise ConfigError(f"rewriter.decay={decay} must be above 0, up to 1; rewriter.exchanges={exchanges} at least 1")


def _vector_length(text: str) -> float:
    """The length of a text's vector of words, each of weight 1."""
    return compute_vector_length(_WORD.findall(text.lower()))


def compute_vector_length(words: Iterable[str]) -> float:
    """Compute the length of the vector of a text with these words, each of weight 1, whatever their case."""
    return sqrt(len({word.lower() for word in words}))
