"""`rewriter=weighted_history`: the history as weighted words for BM25, and as words of a rewrite for vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import sqrt
from typing import Any

from convrag import LLM, ConfigError, PromptTemplate, Query, Question, Rewrite, Rewriter, Turn
from convrag.sdk.llm_rewriter import LLMRewriter, format_exchanges
from convrag.sdk.stop_words import is_stop_word

_WORD = re.compile(r"\w+(?:['’]\w+)*")

QUESTION_WEIGHT = 1.0
"""Weight of the question beside its rewrite, in the search by vectors."""


class WeightedHistoryRewriter(Rewriter):
    """Search by words and by vectors in different ways, since the history helps them in different forms.

    By words: the question, its stop words with half of their weight, and the content words of the last questions and
    answers with small weights that halve with each exchange. By vectors: the question, and a rewrite of it by the llm;
    `llm=extractive`, which is no language model, adds the words of the history that the question lacks. The first
    question is searched for as it is. The words follow Rocchio's formula, as in rewriter=blend: each utterance is
    scaled to the length of the question, so that a long answer counts no more than a short question.

    Args:
        llm: rewrites the question for the search by vectors.
        weight: that of all earlier utterances together, in the search by words; the question's is 1. 0 leaves them out.
            Default: as in rewriter=blend.
        decay: the weight of an exchange as a share of that of the exchange after it. Default: as in rewriter=blend.
        exchanges: how many of the last exchanges are used in the search by words. Default: as in rewriter=blend.
        stop_words: the weight of the question's stop words ("what", "does", "tell"), where it has other words. Those of
            the history are left out.

    Raises:
        ConfigError: a parameter is out of range.
    """

    def __init__(
        self, *, llm: LLM, weight: float = 0.5, decay: float = 0.5, exchanges: int = 4, stop_words: float = 0.5
    ) -> None:
        if weight < 0:
            raise ConfigError(f"rewriter.weight={weight}: it must be 0 or more")
        if not 0 < decay <= 1:
            raise ConfigError(f"rewriter.decay={decay}: it must be above 0 and at most 1 (equal weights)")
        if exchanges < 1:
            raise ConfigError(f"rewriter.exchanges={exchanges}: it must be at least 1")
        if not 0 <= stop_words <= 1:
            raise ConfigError(f"rewriter.stop_words={stop_words}: it must be between 0 (none) and 1 (as other words)")
        self.llm = llm
        self.weight = weight
        self.decay = decay
        self.exchanges = exchanges
        self.stop_words = stop_words
        template = PromptTemplate("rewrite", package="convrag_baselines")
        self.llm_rewriter = LLMRewriter(llm, template, temperature=0.0, max_tokens=200)
        self.prompt_templates = (template,)

    def rewrite(self, question: Question) -> Rewrite:
        """The queries for vectors, the rewrite first, then those for words, newest exchange first."""
        if not question.history:
            return Rewrite.of(question.text, method="first_question" if question.number == 1 else "no_history")
        turns = question.history[: -self.exchanges - 1 : -1]
        standalone = self._write_standalone(question)
        dense = (
            Query(text, QUESTION_WEIGHT if text == question.text else 1.0, search="dense")
            for text in dict.fromkeys((standalone.text, question.text))
        )
        trace: dict[str, Any] = {
            **standalone.trace,
            "method": "weighted_history",
            "selected": [turn.id for turn in reversed(turns)],
            "weight": self.weight,
        }
        return Rewrite((*dense, *self._weigh_words(question.text, turns)), trace, standalone.fallback)

    def _write_standalone(self, question: Question) -> Rewrite:
        """The llm's rewrite; the question where the llm has no rule for rewriting."""
        if self.llm.tasks is not None and "rewrite" not in self.llm.tasks:
            return Rewrite.of(question.text)
        history = format_exchanges(question.history)
        return self.llm_rewriter.rewrite(question, {}, history=history, question_weight=QUESTION_WEIGHT)

    def _weigh_words(self, question: str, turns: Sequence[Turn]) -> list[Query]:
        """The queries for a search by words; `turns` are those that are used, newest first."""
        every, own = _WORD.findall(question), find_content_words(question)
        has_both = 0 < len(own) < len(every)
        queries = [(question, self.stop_words if has_both else 1.0)]
        if has_both:
            queries.append((" ".join(own), 1 - self.stop_words))
        length = _vector_length(own or every) or 1.0
        aged = [(text, self.decay**age) for age, turn in enumerate(turns) for text in (turn.question, turn.answer)]
        said = [(words, share) for text, share in aged if (words := find_content_words(text))]
        total = sum(share for _, share in said)
        for words, share in said:
            weight = self.weight * share / total * length / _vector_length(words)
            queries.append((" ".join(words), weight))
        return [Query(text, weight, search="lexical") for text, weight in queries if weight]


def find_content_words(text: str) -> list[str]:
    """The words of a text, in order and with repetitions, without English stop words and single letters and digits."""
    return [word for word in _WORD.findall(text) if len(word) > 1 and not is_stop_word(word)]


def _vector_length(words: Sequence[str]) -> float:
    """The length of a text's vector of words, each of weight 1."""
    return sqrt(len({word.lower() for word in words}))
