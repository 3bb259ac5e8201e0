"""History without an LLM: the question, and what was said before it with small weights."""

from __future__ import annotations

import re
from math import sqrt

from convrag import ConfigError, Query, Question, Rewrite, Rewriter

_WORD = re.compile(r"\w+")


class BlendRewriter(Rewriter):
    """Search for the question, and with small weights for the last questions and answers: history that costs nothing.

    Rocchio's formula, with what was said before in the place of feedback: the query is the question's vector and, less
    a share, the mean of the vectors of earlier utterances. The retriever adds them up in its own way. Each utterance
    has the same length as the question, whatever it has to say: a text of n different words, each as heavy as the
    next, has a vector of length sqrt(n), so its weight is divided by that. So a long answer speaks no louder than a
    short question, no word is picked by hand, and the rarity of words counts where it belongs, in the retriever.

    Args:
        weight: of all that was said before, together, against the question's 1. Half: the question asks, the history
            explains.
        decay: weight of an exchange against the one after it. Half: as the history does to the question.
        exchanges: how many are looked at; with decay=.5 a fifth would weigh less than a thirtieth of the history.

    Raises:
        ConfigError: a number lies outside of its range.
    """

    def __init__(self, *, weight: float = 0.5, decay: float = 0.5, exchanges: int = 4) -> None:
        if weight <= 0:
            raise ConfigError(f"rewriter.weight={weight}: it must be above 0; rewriter=none searches for the question")
        if not 0 < decay <= 1:
            raise ConfigError(f"rewriter.decay={decay}: it must be above 0, and at most 1 (all weigh the same)")
        if exchanges < 1:
            raise ConfigError(f"rewriter.exchanges={exchanges}: it must be at least 1")
        self.weight = weight
        self.decay = decay
        self.exchanges = exchanges

    def rewrite(self, question: Question) -> Rewrite:
        """The question, then the utterances, newest exchange first; no call of anything."""
        turns = question.history[: -self.exchanges - 1 : -1]
        said = [(text, self.decay**age) for age, turn in enumerate(turns) for text in (turn.question, turn.answer)]
        said = [(text, share) for text, share in said if _length(text)]
        total = sum(share for _, share in said)
        length = _length(question.text) or 1.0
        blended = (Query(text, self.weight * share / total * length / _length(text)) for text, share in said)
        selected = [turn.id for turn in reversed(turns)]
        return Rewrite((Query(question.text), *blended), {"selected": selected})


def _length(text: str) -> float:
    return sqrt(len(set(_WORD.findall(text.lower()))))
