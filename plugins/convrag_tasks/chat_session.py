"""A conversation as it goes on: asking, and asking again with another query."""

from __future__ import annotations

import secrets
from datetime import datetime

from convrag import Pipeline, Question, Rewrite, Rewriter, TurnRecord
from convrag.turn.session import Session
from convrag_tasks.chat_screen import Screen


class ShownRewriter(Rewriter):
    """The run's rewriter, whose query the user sees, and may replace, before the search.

    Args:
        rewriter: the run's.
        screen: shows the query.
    """

    def __init__(self, rewriter: Rewriter, screen: Screen) -> None:
        self.rewriter = rewriter
        self.screen = screen
        self.on = True

    def rewrite(self, question: Question) -> Rewrite:
        """What the rewriter says, or the user; the question itself where rewriting is off."""
        rewrite = self.rewriter.rewrite(question) if self.on else Rewrite.of(question.text)
        other = self.screen.query(rewrite.queries)
        return Rewrite.of(other, edited=True) if other else rewrite


class ChatSession:
    """One conversation at a time. The pipeline keeps it, on disk too.

    Args:
        pipeline: answers; its rewriter is replaced by one that shows its query.
        screen: where everything is shown.
        conversation: one of the pipeline's.
    """

    def __init__(self, pipeline: Pipeline, screen: Screen, conversation: Session) -> None:
        self.pipeline = pipeline
        self.screen = screen
        self.conversation = conversation
        self.rewriter = ShownRewriter(pipeline.stages.rewriter, screen)
        pipeline.stages = pipeline.stages._replace(rewriter=self.rewriter)

    def ask(self, text: str, query: str | None = None) -> TurnRecord:
        """Answer the next question, and show the answer as it comes. Raises RunStopped.

        Args:
            text: the question.
            query: what to search for instead of a rewrite.
        """
        earlier = tuple(self.conversation.history)
        self.screen.begin(query)
        record = self.pipeline.turn(self.conversation.id, text, query=query, listener=self.screen.piece)
        self.screen.turn(record, earlier)
        return record

    def ask_again(self, query: str) -> TurnRecord:
        """Answer the last question anew, from what is found for this query; the answer replaces the last one."""
        last = self.conversation.history.pop()
        self.conversation.stage_state.clear()  # stages may have noted the turn that is being taken back
        try:
            return self.ask(last.question, query)
        except BaseException:
            self.conversation.history.append(last)
            raise

    def start(self, name: str) -> None:
        """Begin a new conversation about the same corpus; the old one stays on disk."""
        self.conversation = self.pipeline.conversations.open(name, self.conversation.domain)


def new_name() -> str:
    """An id for a conversation that was given none: when it began, and something that makes it unique."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
