"""`rewriter=auto`, the default: a language model rewrites; without one, earlier turns add words."""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Annotated, Any

from annotated_types import Ge, Interval

from convrag import LLM, Query, Question, Rewrite, Rewriter, use
from convrag_rewriters.utterances import (
    compute_vector_length,
    list_content_words,
    list_utterances,
    share_weight,
    shorten_for_rule,
    split_stop_words,
)

STOP_WORDS = 0.5
"""The weight of the question's stop words, as in rewriter=weighted_history."""

QUESTION_LENGTH = 4
"""Content words of a question that weighs as much as its context does, by vectors."""

QUESTIONS = 2
"""Earlier questions in the context, as in rewriter=last_n."""


@dataclass(kw_only=True, eq=False)
class AutoRewriter(Rewriter):
    """Rewrite with the language model if there is one, else search for earlier turns as well.

    With a language model this is rewriter=full_history. Without one, the words of the last turns
    are searched for with a weight that does not depend on the question: together they weigh as much
    as half a word of it. So a question of many words gets little of the history, and a short
    follow-up much. A search by vectors gets the question, and the question in its context, which
    counts less, the more words the question has of its own.

    A stage that is not a language model says so itself (`LLM.tasks`). The run's summary says what
    was used, and so does the record of each turn (`by`).

    Args:
        llm: rewrites the question if it is a language model.
        prompting: the rewriter for a language model, with its parameters
            (`rewriter.prompting=mmr`). Without a model it writes the question that later stages
            read, if the llm has a rule for rewriting.
        weight: the weight of the history without a model, in words of the question; 0 leaves the
            history out. Default: half a word, which is Rocchio's .5 for a question of one word.
        decay: the weight of an exchange as a share of that of the exchange after it. Default: as in
            rewriter=blend.
        exchanges: how many of the last exchanges are used. Default: as in rewriter=blend.
    """

    llm: LLM
    prompting: Rewriter = use("full_history")
    weight: Annotated[float, Ge(0)] = 0.5
    decay: Annotated[float, Interval(gt=0, le=1)] = 0.5
    exchanges: Annotated[int, Ge(1)] = 4

    def __post_init__(self) -> None:
        self.uses_model = self.llm.tasks is None

    def rewrite(self, question: Question) -> Rewrite:
        """Rewrite by the model, or add the history; a first question is searched for as it is."""
        if self.uses_model:
            rewrite = self.prompting.rewrite(question)
            return replace(rewrite, trace={"by": "language model", **rewrite.trace})
        turns = question.history[-self.exchanges :]
        trace: dict[str, Any] = {"by": "history", "selected": [turn.id for turn in turns]}
        if not turns or not self.weight:
            return Rewrite((Query(question.text),), trace)
        standalone = self._write_standalone(question)
        dense = self._list_dense(question, standalone.text)
        queries = (*dense, *self._list_lexical(question))
        return Rewrite(queries, trace | dict(standalone.trace), standalone.fallback)

    def note(self) -> str:
        """Say which way was chosen."""
        if self.uses_model:
            return "the llm is a language model, and rewrites the questions (rewriter=full_history)"
        return (
            "the llm is no language model: questions are searched for with words of earlier turns"
        )

    def _write_standalone(self, question: Question) -> Rewrite:
        """Write the question that later stages read: with words that it lacks, if the llm has them.

        It is the first query, since a question such as "And then?" tells them nothing.
        """
        if self.llm.tasks is not None and "rewrite" not in self.llm.tasks:
            return Rewrite.of(question.text)
        return self.prompting.rewrite(shorten_for_rule(question))

    def _list_dense(self, question: Question, standalone: str) -> list[Query]:
        """List the queries for vectors: the question, and the question in its context.

        The context is the stand-alone question, and the question after those before it as one text,
        since the embedder then weighs all their words against each other. Added up as vectors, "How
        much does it cost?" would count as much as the question that names the subject.
        """
        own_length = compute_vector_length(list_content_words(question.text)) or 1.0
        context_weight = sqrt(QUESTION_LENGTH) / own_length
        before = [turn.question for turn in question.history[-QUESTIONS:]]
        together = "\n".join([*before, question.text])
        weighted = [(question.text, 1.0), (together, context_weight / 2)]
        if standalone != question.text:
            weighted.insert(0, (standalone, context_weight / 2))
        return [Query(text, weight, search="dense") for text, weight in weighted]

    def _list_lexical(self, question: Question) -> list[Query]:
        """List the queries for words: the question, then utterances by their content words."""
        newest_first = question.history[: -self.exchanges - 1 : -1]
        utterances = list_utterances(newest_first, list_content_words, self.decay)
        return [
            Query(text, weight, search="lexical")
            for text, weight in [
                *split_stop_words(question.text, STOP_WORDS),
                *share_weight(utterances, self.weight),
            ]
        ]
