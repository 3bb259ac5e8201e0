"""Turns as traces: stored until the run's end or, in conversations, written in a thread."""

import atexit
import json
import logging
import threading
from collections.abc import Iterator, Mapping
from importlib import import_module
from queue import Full, Queue
from tempfile import TemporaryFile

from convrag import TurnRecord
from convrag.sdk.output.spans import Row, count_usage
from convrag.sdk.output.turn_spans import TurnTrace
from convrag.sdk.types import Usage
from convrag_mlflow.connection import Connection

log = logging.getLogger(__name__)


class RunTurns:
    """The traces of a run's turns, in a file without a name: a run is logged when it has ended."""

    def __init__(self) -> None:
        self._ended: dict[tuple[str, str], TurnTrace] = {}
        self._file = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115

    def note(self, turn: TurnTrace, record: TurnRecord) -> None:
        """Note a turn that has ended; from any thread."""
        self._ended[record.conversation_id, record.turn_id] = turn

    def add(self, record: TurnRecord) -> None:
        """Store a turn with its complete record; one that this run has not asked is left out."""
        if turn := self._ended.pop((record.conversation_id, record.turn_id), None):
            self._file.write(f"{json.dumps(make_trace(turn, record))}\n")

    def read(self) -> Iterator[Row]:
        """Yield the turns."""
        self._file.seek(0)
        return map(json.loads, self._file)

    def close(self) -> None:
        """Forget the turns."""
        self._file.close()


def make_trace(
    turn: TurnTrace, record: TurnRecord, further_tags: Mapping[str, str] | None = None
) -> Row:
    """Describe a turn as plain data, with its tags and spans.

    Args:
        turn: the stages of the turn, with their times.
        record: the record of the turn.
        further_tags: tags to add.
    """
    counted = count_usage(sum(record.usage.values(), Usage()))
    tags = {
        "mlflow.traceName": "turn",
        "convrag.conversation": record.conversation_id,
        "convrag.turn": record.turn_id,
        "convrag.number": str(record.number),
        "convrag.attempt": str(record.attempt or ""),
        "convrag.fallbacks": " ".join(record.fallbacks),
        "convrag.error": record.error,
        **(further_tags or {}),
    }
    return {
        "conversation": record.conversation_id,
        "question": record.original_query,
        "answer": record.answer.text,
        "error": record.error,
        "tags": tags,
        "tokens": counted.get("tokens"),
        "cost": counted.get("cost"),
        "spans": turn.make(record),
    }


SUFFIX = " conversations"
"""The end of the name of the experiment of conversations.

In the experiment of the runs, MLflow would list their turns among those of the runs.
"""

MAX_WAITING = 500
"""The number of turns that may wait to be written; others are dropped."""

PROGRAM_SECONDS = 30.0
"""The time that the end of a program waits until its turns are written."""


class TraceWriter:
    """Writes turns to an experiment in a thread, in order, so that no answer waits for a database.

    Turns that cannot be written are dropped, with one warning.

    Args:
        connection: the experiment; the thread connects to it.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.has_written = False
        self._waiting: Queue[Row] = Queue(MAX_WAITING)
        self._thread: threading.Thread | None = None
        self._warned = False
        self._given_up = False

    def start(self) -> None:
        """Begin to connect, unless that has begun. The end of the program waits for added turns."""
        if self._thread is not None:
            return
        # MLflow needs these modules, and once a program ends they refuse to load
        import_module("concurrent.futures.thread")
        import_module("concurrent.futures.process")
        atexit.register(self._finish)
        self._thread = threading.Thread(target=self._run, name="mlflow", daemon=True)
        self._thread.start()

    def add(self, turn: Row) -> None:
        """Let a turn that has ended be written soon."""
        try:
            self._waiting.put_nowait(turn)
        except Full:
            self._warn_once("they come faster than MLflow takes them")

    def flush(self, seconds: float) -> int:
        """Wait until all turns are written, at most so many seconds; return how many are not."""
        waiting = self._waiting
        with waiting.all_tasks_done:
            waiting.all_tasks_done.wait_for(lambda: not waiting.unfinished_tasks, seconds)
            left = waiting.unfinished_tasks
        self._given_up = left > 0
        return left

    def _finish(self) -> None:
        """Wait at the end of the process, unless `flush` has waited in vain already."""
        if self._given_up:
            return
        left = self.flush(PROGRAM_SECONDS)
        if left:
            self._warn_once(f"{left} were not written in {PROGRAM_SECONDS:.0f} s")

    def _run(self) -> None:
        self._try_to_write()  # connects
        while True:
            self._try_to_write(self._waiting.get())
            self._waiting.task_done()

    def _try_to_write(self, *turns: Row) -> None:
        try:
            self.connection.open().traces.write(turns)
            if turns:
                self.has_written = True
        except Exception as error:  # no trace is worth a turn
            self._warn_once(self.connection.explain(error))

    def _warn_once(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            log.warning(
                "the traces of turns of conversations are not in MLflow, or not all: %s", reason
            )
