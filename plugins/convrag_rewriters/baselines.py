"""Rewriters without a model: the question alone, with earlier utterances, with these weighted, or
their words.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Interval

from convrag import LLM, PromptTemplate, Query, Question, Rewrite, Rewriter, Turn
from convrag.sdk.llm.rewriter import LLMRewriter, format_exchanges
from convrag.sdk.text.analysis import find_content_words, split_words


class NoRewriter(Rewriter):
    """Search for the question as it is (last turn)."""

    def rewrite(self, question: Question) -> Rewrite:
        """The question itself."""
        return Rewrite.of(question.text)


class AllQuestionsRewriter(Rewriter):
    """Search for all questions of the conversation, concatenated into one query."""

    def rewrite(self, question: Question) -> Rewrite:
        """The earlier questions and this one, a line each."""
        return _concatenate(
            (turn.question for turn in question.history), question, question.history
        )


class LastNRewriter(Rewriter):
    """Search for the question and the questions of the last n exchanges, concatenated into one query.

    Args:
        n: how many exchanges; more of them may add topics that the conversation has left. Pronouns
            mostly refer to the last exchange; the default adds the one before it.
        answers: add the assistant's answers too: more context, and far longer queries.
    """

    def __init__(self, *, n: Annotated[int, Ge(1)] = 2, answers: bool = False) -> None:
        self.n = n
        self.answers = answers

    def rewrite(self, question: Question) -> Rewrite:
        """The last exchanges, oldest first, and the question, a line each."""
        turns = question.history[-self.n :]
        texts = (
            text for turn in turns for text in (turn.question, turn.answer if self.answers else "")
        )
        return _concatenate(texts, question, turns)


def _concatenate(texts: Iterable[str], question: Question, turns: tuple[Turn, ...]) -> Rewrite:
    """The texts that are not empty and the question, a line each; the trace names the turns."""
    lines = [" ".join(text.split()) for text in texts]
    return Rewrite.of(
        "\n".join([*filter(None, lines), question.text]), selected=[turn.id for turn in turns]
    )


@dataclass(kw_only=True, eq=False)
class BlendRewriter(Rewriter):
    """Search for the question and, with small weights, for the last questions and answers: no LLM is called.

    Rocchio's formula, with earlier utterances in the place of relevant passages: the query's vector
    is the question plus a weighted mean of the utterances' vectors, which the retriever adds up in
    its own way. All vectors are scaled to the length of the question's: a text of n different words
    of equal weight has a vector of length sqrt(n), so its weight is divided by that. So a long
    answer counts no more than a short question, no words are selected, and the rarity of words is
    left to the retriever.

    Args:
        weight: of all earlier utterances together; the question's is 1.
        decay: the weight of an exchange as a share of that of the exchange after it.
        exchanges: how many of the last exchanges are used; with decay=.5 a fifth would have less
            than a thirtieth of their weight.
    """

    weight: Annotated[float, Gt(0)] = 0.5
    decay: Annotated[float, Interval(gt=0, le=1)] = 0.5
    exchanges: Annotated[int, Ge(1)] = 4

    def rewrite(self, question: Question) -> Rewrite:
        """The question, then the utterances, newest exchange first."""
        turns = question.history[: -self.exchanges - 1 : -1]
        said = weigh_utterances(
            turns, split_words, self.weight, self.decay, split_words(question.text)
        )
        blended = (Query(text, weight) for text, _, weight in said)
        selected = [turn.id for turn in reversed(turns)]
        return Rewrite((Query(question.text), *blended), {"selected": selected})


def weigh_utterances(
    turns: Sequence[Turn],
    split: Callable[[str], Sequence[str]],
    weight: float,
    decay: float,
    question: Sequence[str],
) -> list[tuple[str, Sequence[str], float]]:
    """The questions and answers that have words, scaled to the length of a question: text, words,
    weight.

    Args:
        turns: newest first.
        split: text -> its words.
        weight: that of all utterances together.
        decay: the weight of a turn as a share of that of the turn after it.
        question: the words of the question.
    """
    aged = [
        (text, decay**age)
        for age, turn in enumerate(turns)
        for text in (turn.question, turn.answer)
    ]
    said = [(text, words, share) for text, share in aged if (words := split(text))]
    total = sum(share for _, _, share in said)
    length = compute_vector_length(question) or 1.0
    return [
        (text, words, weight * share / total * length / compute_vector_length(words))
        for text, words, share in said
    ]


def compute_vector_length(words: Iterable[str]) -> float:
    """Compute the length of the vector of a text with these words, each of weight 1, whatever their
    case.
    """
    return sqrt(len({word.lower() for word in words}))


_DENSE: Literal["dense"] = "dense"
_LEXICAL: Literal["lexical"] = "lexical"


@dataclass(kw_only=True, eq=False)
class WeightedHistoryRewriter(Rewriter):
    """Search by words and by vectors in different ways, since the history helps them in different forms.

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
        weight: that of all earlier utterances together in the search by words; the question's is 1.
            0 leaves them out. Default: as in rewriter=blend.
        rewrite_weight: that of the rewrite in the search by words; the question's is 1. 0 leaves it
            out. This default and those of answers and stop_words were chosen on MTRAG's clapnq and
            cloud (docs/benchmarks.md).
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
        """The llm where no other rewriter stands in its place."""
        return name != "llm" or parameters["standalone"] is None

    def rewrite(self, question: Question) -> Rewrite:
        """The queries for vectors, the rewrite first, then those for words, newest exchange first."""
        if not question.history:
            return Rewrite.of(
                question.text, method="first_question" if question.number == 1 else "no_history"
            )
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
        trace = {
            **standalone.trace,
            "method": "weighted_history",
            "selected": selected,
            "weight": self.weight,
        }
        return Rewrite(tuple(queries), trace, standalone.fallback)

    def _write_standalone(self, question: Question) -> Rewrite:
        """The rewrite of the other rewriter or of the llm; the question where the llm has no rule
        for rewriting.
        """
        if self.standalone is not None:
            return self.standalone.rewrite(question)
        if self.llm.tasks is not None and "rewrite" not in self.llm.tasks:
            return Rewrite.of(question.text)
        history = format_exchanges(question.history)
        # the question is searched for beside its rewrite, with the same weight: then rules add more
        # words
        return self.llm_rewriter.rewrite(question, {}, history=history, question_weight=1.0)

    def _weigh_answers(self, turns: Sequence[Turn]) -> list[tuple[str, float]]:
        """The answers of turns, newest first, and their weights in the search by vectors."""
        said = [
            (turn.answer, self.decay**age)
            for age, turn in enumerate(turns)
            if split_words(turn.answer)
        ]
        total = sum(share for _, share in said)
        return [(text, self.answers * share / total) for text, share in said]

    def _weigh_words(
        self, question: str, standalone: str, turns: Sequence[Turn]
    ) -> list[tuple[str, float]]:
        """The words of the question, its rewrite and turns, newest first, and their weights in the
        search by words.
        """
        every, own = split_words(question), _list_content_words(question)
        has_both = 0 < len(own) < len(every)
        queries = [(question, self.stop_words if has_both else 1.0)]
        if has_both:
            queries.append((" ".join(own), 1 - self.stop_words))
        if standalone != question and (added := _list_content_words(standalone)):
            queries.append((" ".join(added), self.rewrite_weight))
        said = weigh_utterances(turns, _list_content_words, self.weight, self.decay, own or every)
        queries += [(" ".join(words), weight) for _, words, weight in said]
        return queries


def _list_content_words(text: str) -> list[str]:
    return [word.text for word in find_content_words(text)]
