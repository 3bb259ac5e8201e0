"""`rewriter=weighted_history`: the history in one form for words, in another for vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Interval

from convrag import LLM, PromptTemplate, Query, Question, Rewrite, Rewriter, Turn
from convrag.sdk.llm.rewriter import LLMRewriter, format_exchanges
from convrag.sdk.text.analysis import split_words
from convrag_rewriters.utterances import (
    compute_vector_length,
    list_content_words,
    list_utterances,
    share_weight,
    shorten_for_rule,
    split_stop_words,
)


@dataclass(kw_only=True, eq=False)
class WeightedHistoryRewriter(Rewriter):
    """Search for the history in one form by words, and in another by vectors.

    By words: the question, its stop words with half of their weight; the content words of a rewrite
    that stands alone, with a quarter; and those of the last questions and answers, whose small
    weights halve with each exchange. By vectors: the question, the rewrite, and with a small weight
    the last answers. The first question is searched for as it is.

    The rewrite is the llm's; `llm=extractive`, which is no language model, adds the words of the
    history that the question lacks. The words follow Rocchio's formula, as in rewriter=blend: each
    utterance is scaled to the length of the question, so that a long answer counts no more than a
    short question.

    Args:
        llm: rewrites the question.
        standalone: rewrites it in place of the llm: `rewriter.standalone=replay
            rewriter.standalone.path=FILE`.
        weight: the weight of all earlier utterances together in the search by words; the question's
            is 1. 0 leaves them out. Default: as in rewriter=blend.
        rewrite_weight: the weight of the rewrite in the search by words; the question's is 1. 0
            leaves it out. This default and those of answers and stop_words were chosen on MTRAG's
            clapnq and cloud (docs/benchmarks.md).
        answers: the weight of all earlier answers together in the search by vectors; those of the
            question and its rewrite are 1. 0 leaves them out.
        decay: the weight of an exchange as a share of that of the exchange after it. Default: as in
            rewriter=blend.
        exchanges: how many of the last exchanges are used. Default: as in rewriter=blend.
        stop_words: the weight of the question's stop words ("what", "does", "tell"), where it has
            other words. Those of the history are left out.
    """

    standalone: Rewriter | None = None
    llm: LLM
    weight: Annotated[float, Ge(0)] = 0.5
    rewrite_weight: Annotated[float, Ge(0)] = 0.25
    answers: Annotated[float, Ge(0)] = 0.25
    decay: Annotated[float, Interval(gt=0, le=1)] = 0.5
    exchanges: Annotated[int, Ge(1)] = 4
    stop_words: Annotated[float, Interval(ge=0, le=1)] = 0.5

    def __post_init__(self) -> None:
        template = PromptTemplate("rewrite", package="convrag_rewriters")
        self.llm_rewriter = LLMRewriter(self.llm, template, temperature=0.0, max_tokens=200)
        self.prompt_templates = (template,)

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """Use the llm where no other rewriter takes its place."""
        return name != "llm" or parameters["standalone"] is None

    def rewrite(self, question: Question) -> Rewrite:
        """Return the queries for vectors, the rewrite first, then those for words."""
        if not question.history:
            method = "first_question" if question.number == 1 else "no_history"
            return Rewrite.of(question.text, method=method)
        newest_first = question.history[: -self.exchanges - 1 : -1]
        standalone = self._write_standalone(question)
        own_texts = dict.fromkeys((standalone.text, question.text), 1.0)
        dense = [*own_texts.items(), *self._weigh_answers(newest_first)]
        lexical = self._weigh_words(question.text, standalone.text, newest_first)
        queries = [Query(text, weight, search="dense") for text, weight in dense if weight]
        queries += [Query(text, weight, search="lexical") for text, weight in lexical if weight]
        trace = {
            **standalone.trace,
            "method": "weighted_history",
            "selected": [turn.id for turn in reversed(newest_first)],
            "weight": self.weight,
        }
        return Rewrite(tuple(queries), trace, standalone.fallback)

    def _write_standalone(self, question: Question) -> Rewrite:
        """Rewrite by the other rewriter or the llm; the question where the llm has no such rule."""
        if self.standalone is not None:
            return self.standalone.rewrite(question)
        if self.llm.tasks is not None and "rewrite" not in self.llm.tasks:
            return Rewrite.of(question.text)
        has_model = self.llm.tasks is None
        read = question if has_model else shorten_for_rule(question)
        history = format_exchanges(read.history)
        # the question is searched for beside its rewrite, with the same weight: then rules add more
        # words
        return self.llm_rewriter.rewrite(question, {}, history=history, question_weight=1.0)

    def _weigh_answers(self, turns: Sequence[Turn]) -> list[tuple[str, float]]:
        """Return the answers of turns, newest first, with weights for the search by vectors."""
        shares = []
        for age, turn in enumerate(turns):
            if split_words(turn.answer):
                shares.append((turn.answer, self.decay**age))
        total = sum(share for _, share in shares)
        return [(answer, self.answers * share / total) for answer, share in shares]

    def _weigh_words(
        self, question: str, standalone: str, turns: Sequence[Turn]
    ) -> list[tuple[str, float]]:
        """Return texts with weights for the search by words: question, rewrite, then utterances.

        Args:
            question: as it was asked.
            standalone: the rewrite; the question itself where there is none.
            turns: newest first.
        """
        queries = split_stop_words(question, self.stop_words)
        if standalone != question:
            added = list_content_words(standalone)
            if added:
                queries.append((" ".join(added), self.rewrite_weight))
        own_words = list_content_words(question) or split_words(question)
        question_length = compute_vector_length(own_words) or 1.0
        utterances = list_utterances(turns, list_content_words, self.decay)
        return [*queries, *share_weight(utterances, self.weight * question_length)]
