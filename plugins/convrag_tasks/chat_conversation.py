"""The conversation of a chat: asking a question, asking it again with another query, and the transcript."""

from __future__ import annotations

import secrets
from datetime import datetime

from convrag import Pipeline, Question, Rewrite, Rewriter, TurnRecord
from convrag.sdk.markdown import format_line, format_text
from convrag.turn.session import Session
from convrag_tasks.chat_terminal import Terminal


class InteractiveRewriter(Rewriter):
    """A rewriter whose queries the user sees, and may replace, before each search.

    `on` says whether questions are rewritten.

    Args:
        rewriter: of the configuration.
        terminal: shows the query, and reads what the user types instead.
    """

    def __init__(self, rewriter: Rewriter, terminal: Terminal) -> None:
        self.rewriter = rewriter
        self.terminal = terminal
        self.on = True

    def rewrite(self, question: Question) -> Rewrite:
        """What the user typed, else the rewriter's queries, else the question itself where rewriting is off."""
        rewrite = self.rewriter.rewrite(question) if self.on else Rewrite.of(question.text)
        edited = self.terminal.show_queries(rewrite.queries)
        return Rewrite.of(edited, edited=True) if edited else rewrite


class ChatConversation:
    """The conversation at hand; the pipeline keeps it in memory and on disk.

    Args:
        pipeline: answers the questions; its rewriter is replaced by an interactive one.
        terminal: shows queries, answers and sources.
        conversation: the one to go on with, from the pipeline's.
    """

    def __init__(self, pipeline: Pipeline, terminal: Terminal, conversation: Session) -> None:
        self.pipeline = pipeline
        self.terminal = terminal
        self.conversation = conversation
        self.rewriter = InteractiveRewriter(pipeline.stages.rewriter, terminal)
        pipeline.stages = pipeline.stages._replace(rewriter=self.rewriter)

    def ask(self, text: str, query: str | None = None) -> TurnRecord:
        """Answer the next question, and show the answer while it is generated. Raises RunStopped.

        Args:
            text: the question.
            query: searched for instead of a rewrite.
        """
        history = tuple(self.conversation.history)
        self.terminal.start_answer(query)
        record = self.pipeline.turn(self.conversation.id, text, query=query, listener=self.terminal.show_piece)
        self.terminal.finish_answer(record, history)
        return record

    def ask_again(self, query: str) -> TurnRecord:
        """Answer the last question again with this query; the new answer replaces the last one. Raises RunStopped.

        Where no answer comes, the last one stays.
        """
        history = tuple(self.conversation.history[:-1])
        self.terminal.start_answer(query)
        record = self.pipeline.regenerate(self.conversation.id, query=query, listener=self.terminal.show_piece)
        self.terminal.finish_answer(record, history)
        return record

    def start(self, name: str) -> None:
        """Begin a new conversation about the same corpus; the former one stays on disk."""
        self.conversation = self.pipeline.conversations.begin(
            name, self.conversation.domain, configuration=self.pipeline.configuration
        )


def make_conversation_id() -> str:
    """A new id for a conversation: the time, and four random digits."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def format_transcript(conversation: Session) -> str:
    """A conversation as Markdown: questions as headings, answers, and the passages that each was generated from."""
    blocks = [f"# {format_line(conversation.id)}"]
    for turn in conversation.history:
        passages = [
            f"- {format_line(f'{passage.title or passage.text[:60]} ({passage.id})')}" for passage in turn.passages
        ]
        answer = format_text(turn.answer) or "(no answer)"
        blocks += [f"## {format_line(turn.question)}", answer, "\n".join(passages)]
    return "\n\n".join(filter(None, blocks)) + "\n"
