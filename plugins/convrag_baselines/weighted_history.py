"""`rewriter=weighted_history`: the history as weighted words for BM25, and as words of a rewrite for vectors."""

from collections.abc import Sequence
from typing import Literal

from convrag import LLM, ConfigError, PromptTemplate, Query, Question, Rewrite, Rewriter, Turn
from convrag.sdk.llm_rewriter import LLMRewriter, format_exchanges
from convrag.sdk.words import find_content_words, split_compounds, split_words
from convrag_baselines.blend import check_decay, compute_vector_length

_DENSE: Literal["dense"] = "dense"
_LEXICAL: Literal["lexical"] = "lexical"


class WeightedHistoryRewriter(Rewriter):
    """Search by words and by vectors in different ways, since the history helps them in different forms.

    By words: the question, its stop words with half of their weight; the content words of a rewrite that stands alone,
    with a quarter; and those of the last questions and answers, whose small weights halve with each exchange. By
    vectors: the question, the rewrite, and with a small weight the last answers. The first question is searched for as
    it is.

    The rewrite is the llm's; `llm=extractive`, which is no language model, adds the words of the history that the
    question lacks. The words follow Rocchio's formula, as in rewriter=blend: each utterance is scaled to the length of
    the question, so that a long answer counts no more than a short question.

    Args:
        llm: rewrites the question.
        standalone: rewrites it in place of the llm: `rewriter.standalone=replay rewriter.standalone.path=FILE`.
        weight: that of all earlier utterances together in the search by words; the question's is 1. 0 leaves them out.
            Default: as in rewriter=blend.
        rewrite_weight: that of the rewrite in the search by words; the question's is 1. 0 leaves it out. This default
            and those of answers and stop_words were chosen on MTRAG's clapnq and cloud (docs/benchmarks.md).
        answers: the weight of all earlier answers together in the search by vectors; those of the question and its
            rewrite are 1. 0 leaves them out.
        decay: the weight of an exchange as a share of that of the exchange after it. Default: as in rewriter=blend.
        exchanges: how many of the last exchanges are used. Default: as in rewriter=blend.
        stop_words: the weight of the question's stop words ("what", "does", "tell"), where it has other words. Those of
            the history are left out.

    Raises:
        ConfigError: a parameter is out of range.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        standalone: Rewriter | None = None,
        weight: float = 0.5,
        rewrite_weight: float = 0.25,
        answers: float = 0.25,
        decay: float = 0.5,
        exchanges: int = 4,
        stop_words: float = 0.5,
    ) -> None:
        check_decay(decay, exchanges)
        if min(weight, rewrite_weight, answers) < 0 or not 0 <= stop_words <= 1:
            given = f"weight={weight}, rewrite_weight={rewrite_weight}, answers={answers}, stop_words={stop_words}"
            raise ConfigError(f"rewriter=weighted_history: {given}: weights are 0 or more, that of stop words up to 1")
        self.llm = llm
        self.standalone = standalone
        self.weight = weight
        self.rewrite_weight = rewrite_weight
        self.answers = answers
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
        texts = [(text, 1.0) for text in dict.fromkeys((standalone.text, question.text))]
        dense = [*texts, *self._weigh_answers(turns)]
        words = self._weigh_words(question.text, standalone.text, turns)
        queries = [
            Query(text, weight, search=search)
            for weighted, search in ((dense, _DENSE), (words, _LEXICAL))
            for text, weight in weighted
            if weight
        ]
        selected = [turn.id for turn in reversed(turns)]
        trace = {**standalone.trace, "method": "weighted_history", "selected": selected, "weight": self.weight}
        return Rewrite(tuple(queries), trace, standalone.fallback)

    def _write_standalone(self, question: Question) -> Rewrite:
        """The rewrite of the other rewriter or of the llm; the question where the llm has no rule for rewriting."""
        if self.standalone is not None:
            return self.standalone.rewrite(question)
        if self.llm.tasks is not None and "rewrite" not in self.llm.tasks:
            return Rewrite.of(question.text)
        history = format_exchanges(question.history)
        # the question is searched for beside its rewrite, with the same weight: then rules add more words
        return self.llm_rewriter.rewrite(question, {}, history=history, question_weight=1.0)

    def _weigh_answers(self, turns: Sequence[Turn]) -> list[tuple[str, float]]:
        """The answers of turns, newest first, and their weights in the search by vectors."""
        said = [(turn.answer, self.decay**age) for age, turn in enumerate(turns) if split_words(turn.answer)]
        total = sum(share for _, share in said)
        return [(text, self.answers * share / total) for text, share in said]

    def _weigh_words(self, question: str, standalone: str, turns: Sequence[Turn]) -> list[tuple[str, float]]:
        """The words of the question, its rewrite and turns, newest first, and their weights in the search by words."""
        every, own = split_words(split_compounds(question)), _list_content_words(question)
        has_both = 0 < len(own) < len(every)
        queries = [(question, self.stop_words if has_both else 1.0)]
        if has_both:
            queries.append((" ".join(own), 1 - self.stop_words))
        if standalone != question and (added := _list_content_words(standalone)):
            queries.append((" ".join(added), self.rewrite_weight))
        length = compute_vector_length(own or every) or 1.0
        aged = [(text, self.decay**age) for age, turn in enumerate(turns) for text in (turn.question, turn.answer)]
        said = [(words, share) for text, share in aged if (words := _list_content_words(text))]
        total = sum(share for _, share in said)
        for words, share in said:
            weight = self.weight * share / total * length / compute_vector_length(words)
            queries.append((" ".join(words), weight))
        return queries


def _list_content_words(text: str) -> list[str]:
    """The content words of a text, as BM25 splits them: each part of a compound is one."""
    return [word.text for word in find_content_words(split_compounds(text))]
