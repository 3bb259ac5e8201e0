"""The conversation of a chat: asking and asking again in the background, and going on with another
conversation.
"""

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from logging.handlers import MemoryHandler

from convrag import Pipeline, Query, TurnRecord
from convrag.sdk.llm.streaming import Stream
from convrag.sdk.search.queries import summarise_queries
from convrag.sdk.tasks.turns import Session, StageFinished, Stages, logs
from convrag_tasks.chat.answer_display import DOING, PlainDisplay
from convrag_tasks.chat.screen import Screen


class ChatConversation:
    """The conversation at hand, with the records of its turns; the pipeline keeps it in its database.

    Args:
        pipeline: answers the questions.
        screen: shows queries, answers and sources.
        session: the conversation to begin or to go on with, from the pipeline.
    """

    def __init__(self, pipeline: Pipeline, screen: Screen, session: Session) -> None:
        self.pipeline = pipeline
        self.screen = screen
        self.go_on_with(session)

    @property
    def id(self) -> str:
        """The conversation's id."""
        return self.session.id

    def go_on_with(self, session: Session) -> None:
        """Make another conversation the one at hand."""
        self.session = session
        self.reread()

    def has_turns(self) -> bool:
        """Whether there is a last turn; where there is none, say so."""
        if not self.records:
            self.screen.print_line("Ask a question first.", "yellow")
        return bool(self.records)

    def reread(self) -> None:
        """Read the records of the conversation's turns from the database."""
        self.records = self.pipeline.conversations.records(self.id)

    def start(self) -> None:
        """Begin a new conversation about the same corpus; the former one stays in the database."""
        begin, configuration = self.pipeline.conversations.begin, self.pipeline.configuration
        self.go_on_with(
            begin(make_conversation_id(), self.session.domain, configuration=configuration)
        )

    def ask(self, text: str) -> None:
        """Answer the next question, and show the answer while it is generated. Raises what
        Pipeline.turn raises.
        """
        record, shown = self._answer(
            partial(self.pipeline.turn, self.id, text, domain=self.session.domain)
        )
        self.records.append(record)
        self._show_end(record, self.records, shown)

    def ask_again(self, query: str | None = None) -> None:
        """Answer the last question again; the new answer replaces the last one. Raises what
        Pipeline.turn raises.

        Where no answer comes, the last one stays.

        Args:
            query: searched for instead of a rewrite.
        """
        record, shown = self._answer(partial(self.pipeline.regenerate, self.id, query=query))
        turns = [*self.records[:-1], record]
        if not record.error:
            self.records = turns
        self._show_end(record, turns, shown)

    def _show_end(self, record: TurnRecord, turns: Sequence[TurnRecord], shown: str) -> None:
        if len(turns) != record.number:  # another process has continued the conversation, too
            self.reread()
        self.screen.show_end_of_answer(turns, shown)

    def _answer(self, turn: Callable[..., TurnRecord]) -> tuple[TurnRecord, str]:
        """Carry out a turn in a thread, and show what it tells; return its record, and the text
        that was shown.

        An exception of this thread, such as KeyboardInterrupt, cancels the turn: its waits end,
        what it does after that is not shown, and nobody waits for it.

        Args:
            turn: `Pipeline.turn` or `regenerate`, with all arguments given but `listener` and
                `stages`.
        """
        display = self.screen.start_answer()
        display.show_doing(DOING[Stages._fields[0]])
        stream = Stream[str | StageFinished, TurnRecord](
            lambda tell: turn(listener=tell, stages=True)
        )
        with hold_log_lines(), closing(display):
            try:
                for event in stream.tick(TICK_SECONDS):
                    if event is not None:
                        self._show(display, event)
                    display.tick()
            except BaseException:
                stream.cancel()
                raise
        return stream.record, display.text

    def _show(self, display: PlainDisplay, event: str | StageFinished) -> None:
        """Show a piece of the answer; or what a stage has done, and which one goes on."""
        if isinstance(event, str):
            display.add_piece(event)
            return
        stage, record = event
        if told := self._tell(stage, record):
            display.print_line(told, "cyan")
        following = Stages._fields[Stages._fields.index(stage) + 1 :]
        display.show_doing(DOING.get(following[0], following[0]) if following else "")

    def _tell(self, stage: str, record: TurnRecord) -> str:
        """What is searched for, once it is known: by the rewriter, or where searches are planned,
        before each.
        """
        search, queries = self.pipeline.stages.search, record.queries
        plans = search and search.several and "edited" not in record.trace.get("rewriter", {})
        if plans:
            rows = record.trace.get("search", {}).get("steps", [])
            queries = tuple(
                Query(text) for row in rows if "found" not in row for text in row["queries"]
            )
        if not queries or stage != ("search" if plans else "rewriter"):
            return ""
        return f"Searching for: {summarise_queries(queries)}" + (
            ", /why" if len(queries) > 1 else ""
        )


def make_conversation_id() -> str:
    """A new id for a conversation: the time, and four random digits."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


_MOST_LINES = 1_000
"""Of the log, that wait for the end of an answer."""

TICK_SECONDS = 0.08
"""From one tick of the display to the next while nothing is told."""


@contextmanager
def hold_log_lines() -> Iterator[None]:
    """Print what the log says on the terminal after the block, in which an answer is drawn there.

    Failures of stages are left out: the record of the turn has them.
    """
    root = logging.getLogger()
    printing = [handler for handler in root.handlers if type(handler) is logging.StreamHandler]
    holding = [MemoryHandler(_MOST_LINES, logging.CRITICAL + 1, handler) for handler in printing]
    for handler, holder in zip(printing, holding, strict=True):
        holder.setLevel(handler.level)
        holder.addFilter(lambda record: record.name != logs.__name__)
        root.removeHandler(handler)
        root.addHandler(holder)
    try:
        yield
    finally:
        for handler, holder in zip(printing, holding, strict=True):
            root.removeHandler(holder)
            root.addHandler(handler)
            holder.close()
