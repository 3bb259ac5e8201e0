"""Rewriters without a model that search for the question alone, or with earlier questions."""

from collections.abc import Iterable
from typing import Annotated

from annotated_types import Ge

from convrag import Question, Rewrite, Rewriter, Turn


class NoRewriter(Rewriter):
    """Search for the question as it is (last turn)."""

    def rewrite(self, question: Question) -> Rewrite:
        """Return the question itself."""
        return Rewrite.of(question.text)


class AllQuestionsRewriter(Rewriter):
    """Search for all questions of the conversation, concatenated into one query."""

    def rewrite(self, question: Question) -> Rewrite:
        """Join the earlier questions and this one, a line each."""
        return _concatenate(
            (turn.question for turn in question.history), question, question.history
        )


class LastNRewriter(Rewriter):
    """Search for the question and the questions of the last n exchanges as one query.

    Args:
        n: how many exchanges; more of them may add topics that the conversation has left. Pronouns
            mostly refer to the last exchange; the default adds the one before it.
        answers: add the assistant's answers too: more context, and far longer queries.
    """

    def __init__(self, *, n: Annotated[int, Ge(1)] = 2, answers: bool = False) -> None:
        self.n = n
        self.answers = answers

    def rewrite(self, question: Question) -> Rewrite:
        """Join the last exchanges, oldest first, and the question, a line each."""
        turns = question.history[-self.n :]
        texts = (
            text for turn in turns for text in (turn.question, turn.answer if self.answers else "")
        )
        return _concatenate(texts, question, turns)


def _concatenate(texts: Iterable[str], question: Question, turns: tuple[Turn, ...]) -> Rewrite:
    """Join the texts that are not empty and the question, a line each; trace the turns."""
    lines = [" ".join(text.split()) for text in texts]
    return Rewrite.of(
        "\n".join([*filter(None, lines), question.text]), selected=[turn.id for turn in turns]
    )
