"""`rewriter=auto`, the default: a language model rewrites; without one, earlier turns add words."""

from collections.abc import Mapping
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
    split_stop_words,
)

STOP_WORDS = 0.5
"""The weight of the question's stop words, as in rewriter=weighted_history."""

QUESTION_LENGTH = 4
"""Content words of a question that counts as much as the question with its context, by vectors."""

QUESTIONS = 2
"""Earlier questions in the context, as in rewriter=last_n."""


@dataclass(kw_only=True, eq=False)
class AutoRewriter(Rewriter):
    """Rewrite with the language model if there is one, else search for earlier turns as well.

    With a language model this is rewriter=full_history. Without one, the words of the last turns
    are searched for with a weight that does not depend on the question: together they weigh as much
    as half a word of it. So a question of many words gets little of the history, and a short
    follow-up much. A search by vectors gets the question, and the question after the questions
    before it as one text; the text counts less, the more words the question has of its own.

    A stage that is not a language model says so itself (`LLM.tasks`). The run's summary says what
    was used, and so does the record of each turn (`by`).

    Args:
        llm: rewrites the question if it is a language model.
        prompting: the rewriter for a language model, with its parameters
            (`rewriter.prompting=mmr`).
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

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """Without a language model, nothing is prompted."""
        return name != "prompting" or parameters["llm"].tasks is None

    def rewrite(self, question: Question) -> Rewrite:
        """Rewrite by the model, or add the history; a first question is searched for as it is."""
        if self.uses_model:
            rewrite = self.prompting.rewrite(question)
            return replace(rewrite, trace={"by": "language model", **rewrite.trace})
        turns = question.history[-self.exchanges :]
        trace = {"by": "history", "selected": [turn.id for turn in turns]}
        if not turns or not self.weight:
            return Rewrite.of(question.text, **trace)
        return Rewrite((*self._list_dense(question), *self._list_lexical(question)), trace)

    def note(self) -> str:
        """Say which way was chosen."""
        if self.uses_model:
            return "the llm is a language model, and rewrites the questions (rewriter=full_history)"
        return (
            "the llm is no language model: questions are searched for with words of earlier turns"
        )

    def _list_dense(self, question: Question) -> list[Query]:
        """List the queries for vectors: the question, and the question with those before it.

        The questions are one text, since the embedder then weighs all their words against each
        other. Added up as vectors, "How much does it cost?" would count as much as the question
        that names the subject.
        """
        own_length = compute_vector_length(list_content_words(question.text)) or 1.0
        before = [turn.question for turn in question.history[-QUESTIONS:]]
        context = "\n".join([*before, question.text])
        context_weight = sqrt(QUESTION_LENGTH) / own_length
        return [
            Query(question.text, search="dense"),
            Query(context, context_weight, search="dense"),
        ]

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
