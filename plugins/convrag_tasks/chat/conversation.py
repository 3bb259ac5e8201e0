"""The conversation of a chat: asking and asking again in the background, and going on with another conversation."""

import atexit
import logging
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from typing import TypeVar

from convrag import Pipeline, Query, TurnRecord
from convrag.sdk.queries import summarise_queries
from convrag.sdk.streaming import Stream
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
        self.go_on_with(begin(make_conversation_id(), self.session.domain, configuration=configuration))

    def ask(self, text: str) -> None:
        """Answer the next question, and show the answer while it is generated. Raises what Pipeline.turn raises."""
        record, shown = self._answer(partial(self.pipeline.turn, self.id, text, domain=self.session.domain))
        self.records.append(record)
        self._show_end(record, self.records, shown)

    def ask_again(self, query: str | None = None) -> None:
        """Answer the last question again; the new answer replaces the last one. Raises what Pipeline.turn raises.

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
        """Carry out a turn in the background; return its record, and the text that was shown meanwhile.

        Args:
            turn: `Pipeline.turn` or `regenerate`, with all arguments given but `listener` and `stages`.
        """

        def run(tell: Tell, display: PlainDisplay) -> TurnRecord:
            return turn(listener=lambda event: tell(partial(self._show, display, event)), stages=True)

        return carry_out(self.screen, DOING[Stages._fields[0]], run)

    def _show(self, display: PlainDisplay, event: str | StageFinished) -> None:
        """Show a piece of the answer; or what a stage has done, and which one goes on."""
        if isinstance(event, str):
            display.add_piece(event)
            return
        stage, record = event
        if stage == "rewriter":
            display.print_line(_announce(record.queries), "cyan")
        following = Stages._fields[Stages._fields.index(stage) + 1 :]
        display.show_doing(DOING.get(following[0], following[0]) if following else "")


def _announce(queries: Sequence[Query]) -> str:
    text = summarise_queries(queries)
    return f"Searching for: {text}" + (", /why" if len(queries) > 1 else "")


def make_conversation_id() -> str:
    """A new id for a conversation: the time, and four random digits."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


T = TypeVar("T")

Tell = Callable[[Callable[[], object]], None]
"""Has the main thread, which alone prints and reads, call a function soon. Called by the thread of the call."""

TICK_SECONDS = 0.08
"""From one tick of the display to the next while nothing is told."""


def carry_out(screen: Screen, doing: str, function: Callable[[Tell, PlainDisplay], T]) -> tuple[T, str]:
    """Call a function in a thread, and show on the screen what it tells. Raises what it raises.

    Args:
        screen: where it is shown.
        doing: what goes on at first ("Searching").
        function: is given what has the main thread print, and the display.

    Returns:
        Its result, and the text that the display has shown.
    """
    display = screen.start_answer()
    display.show_doing(doing)
    call = Stream[Callable[[], object], T](lambda tell: function(tell, display))
    with ExitStack() as stack:
        if not screen.is_plain:
            show = lambda line: call.events.append(partial(display.print_line, line, "yellow"))  # noqa: E731
            stack.enter_context(show_log_lines(show))
            stack.enter_context(hide_typing())
        stack.callback(display.close)
        return wait_for(call, display.tick), display.text


def wait_for(call: Stream[Callable[[], object], T], tick: Callable[[], object]) -> T:
    """Carry out what a call tells, and return its result. Raises what it raises.

    An exception of this thread, such as KeyboardInterrupt, cancels the call: its waits end, what it does after that is
    not shown, and this function does not wait for it.

    Args:
        call: the call.
        tick: is called several times a second, and after each function that is told.
    """
    try:
        for show in call.tick(TICK_SECONDS):
            if show:
                show()
            tick()
    except BaseException:
        call.cancel()
        raise
    return call.record


@contextmanager
def hide_typing() -> Iterator[None]:
    """Turn the echo of the terminal off during the block. Ctrl-C is heard as before.

    Without effect on Windows, and where the input is no terminal.
    """
    try:
        import termios
    except ImportError:
        yield
        return
    if sys.stdin is None or not sys.stdin.isatty():
        yield
        return
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    hidden = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]

    def restore() -> None:
        termios.tcsetattr(number, termios.TCSADRAIN, before)

    atexit.register(restore)  # a second signal ends the process where it is
    termios.tcsetattr(number, termios.TCSADRAIN, hidden)
    try:
        yield
    finally:
        restore()
        atexit.unregister(restore)


class _Lines:
    """A stream for a log handler.

    Args:
        show: is called with each line, in the thread that logs.
    """

    def __init__(self, show: Callable[[str], object]) -> None:
        self._show = show

    def write(self, text: str) -> None:
        self._show(text.rstrip("\n"))

    def flush(self) -> None:
        """Nothing: lines are shown at once."""


@contextmanager
def show_log_lines(show: Callable[[str], object]) -> Iterator[None]:
    """Pass what the log prints on the terminal during the block to a function, which prints it where there is room.

    Failures of stages are left out: the record of the turn has them.
    """
    handlers = [handler for handler in logging.getLogger().handlers if type(handler) is logging.StreamHandler]
    streams = [handler.setStream(_Lines(show)) for handler in handlers]
    for handler in handlers:
        handler.addFilter(_is_no_failure)
    try:
        yield
    finally:
        for handler, stream in zip(handlers, streams, strict=True):
            handler.removeFilter(_is_no_failure)
            handler.setStream(stream)


def _is_no_failure(record: logging.LogRecord) -> bool:
    return record.name != logs.__name__
