"""The conversation of a chat: it is asked, asked again, and exchanged for another one."""

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from logging.handlers import MemoryHandler

from convrag import Pipeline, Query, TurnRecord
from convrag.sdk.llm.streaming import Stream
from convrag.sdk.search.filters import Filter
from convrag.sdk.search.queries import summarise_queries
from convrag.sdk.tasks.turns import Session, StageFinished, StageNotice, Stages, logs
from convrag_tasks.chat.answer_display import DOING, PlainDisplay
from convrag_tasks.chat.screen import Screen


class ChatConversation:
    """The current conversation and its records; the pipeline keeps it in a database.

    Args:
        pipeline: the pipeline that answers the questions.
        screen: the screen that shows queries, answers and sources.
        session: the conversation to begin or to go on with, from the pipeline.
    """

    def __init__(self, pipeline: Pipeline, screen: Screen, session: Session) -> None:
        self.pipeline = pipeline
        self.screen = screen
        self.filter: Filter | None = None
        """The condition on the fields of passages that holds until the user changes it."""
        self.go_on_with(session)

    @property
    def id(self) -> str:
        """The conversation's id."""
        return self.session.id

    def go_on_with(self, session: Session) -> None:
        """Make another conversation the current one."""
        self.session = session
        self.reread()

    def set_filter(self, text: str) -> None:
        """Search only passages with such fields from now on; an empty text ends that.

        Raises:
            ConfigError: a turn would refuse the filter; the one before stays.
        """
        self.filter = self.pipeline.read_filter(text, self.session.domain)

    def has_turns(self) -> bool:
        """Whether there is a last turn; the user is told if there is none."""
        if not self.records:
            self.screen.print_line("Ask a question first.", "yellow")
        return bool(self.records)

    def reread(self) -> None:
        """Read the records of the conversation's turns from the database."""
        self.records = self.pipeline.conversations.records(self.id)

    def start(self) -> None:
        """Begin a new conversation about the same corpus; the former one stays in the database."""
        session = self.pipeline.conversations.begin(
            make_conversation_id(),
            self.session.domain,
            configuration=self.pipeline.configuration,
        )
        self.go_on_with(session)

    def ask(self, text: str) -> None:
        """Answer the next question, and show the answer while it is generated.

        It raises the exceptions of Pipeline.turn.
        """
        turn = partial(
            self.pipeline.turn, self.id, text, domain=self.session.domain, filter=self.filter
        )
        record, shown = self._answer(turn)
        self.records.append(record)
        self._show_end(record, self.records, shown)

    def ask_again(self, query: str | None = None) -> None:
        """Answer the last question again; the new answer replaces the last one.

        If the turn fails, the last answer stays. It raises the exceptions of Pipeline.turn.

        Args:
            query: the query to search for instead of a rewrite.
        """
        turn = partial(self.pipeline.regenerate, self.id, query=query, filter=self.filter)
        record, shown = self._answer(turn)
        turns = [*self.records[:-1], record]
        if not record.error:
            self.records = turns
        self._show_end(record, turns, shown)

    def _show_end(self, record: TurnRecord, turns: Sequence[TurnRecord], shown: str) -> None:
        if len(turns) != record.number:  # another process has continued the conversation, too
            self.reread()
        self.screen.show_end_of_answer(turns, shown)

    def _answer(self, turn: Callable[..., TurnRecord]) -> tuple[TurnRecord, str]:
        """Carry out a turn in a thread, and show its progress.

        An exception of this thread, such as KeyboardInterrupt, cancels the turn: its waits end,
        nothing more of it is shown, and nobody waits for it.

        Args:
            turn: `Pipeline.turn` or `regenerate`, with all arguments given but `listener` and
                `stages`.

        Returns:
            The record, and the text that was shown.
        """
        display = self.screen.start_answer()
        display.show_doing(DOING[Stages._fields[0]])
        stream = Stream[str | StageFinished | StageNotice, TurnRecord](
            lambda listener: turn(listener=listener, stages=True)
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

    def _show(self, display: PlainDisplay, event: str | StageFinished | StageNotice) -> None:
        """Show a piece of the answer, what a stage waits for, or the queries of a finished stage.

        After a finished stage, the work of the next one is shown.
        """
        if isinstance(event, str):
            display.add_piece(event)
            return
        if isinstance(event, StageNotice):
            if event.restarts:
                display.restart(f"{event.text}.")
            display.show_doing(event.text)
            return
        stage, record = event
        queries = self._list_new_queries(stage, record)
        if queries:
            more = ", /why" if len(queries) > 1 else ""
            display.print_line(f"Searching for: {summarise_queries(queries)}{more}", "cyan")
        following = Stages._fields[Stages._fields.index(stage) + 1 :]
        display.show_doing(DOING.get(following[0], following[0]) if following else "")

    def _list_new_queries(self, stage: str, record: TurnRecord) -> Sequence[Query]:
        """List the queries that a finished stage has made.

        The rewriter makes them, unless searches are planned, each with its own queries.
        """
        search = self.pipeline.stages.search
        is_edited = "edited" in record.trace.get("rewriter", {})
        if search is None or not search.several or is_edited:
            return record.queries if stage == "rewriter" else ()
        if stage != "search":
            return ()
        steps = record.trace.get("search", {}).get("steps", [])
        planned = [step for step in steps if "found" not in step]
        return [Query(text) for step in planned for text in step["queries"]]


def make_conversation_id() -> str:
    """Make a new id for a conversation: the time, and four random digits."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


_MOST_LINES = 1_000
"""The most lines of the log that wait for the end of an answer."""

TICK_SECONDS = 0.08
"""The time from one tick of the display to the next while nothing happens."""


@contextmanager
def hold_log_lines() -> Iterator[None]:
    """Hold back the log's lines on the terminal until the end of the block, which draws an answer.

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
