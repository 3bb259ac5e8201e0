"""The turns of chats, servers and programs as traces. They belong to no run."""

import atexit
import logging
import threading
from collections import deque
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from convrag import Question, TurnRecord
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.tasks.turns import Stages
from convrag_mlflow.connection import Connection
from convrag_mlflow.stage_spans import Row
from convrag_mlflow.turn_trace import TurnTrace

log = logging.getLogger(__name__)

SUFFIX = " conversations"
"""Stands behind the experiment's name. In the experiment of the runs, MLflow would list these turns among theirs."""

MOST = 500
"""Turns that may wait to be written; others are dropped."""

PROGRAM_SECONDS = 30.0
"""How long the end of a program waits until its turns are written."""

STOPPED_SECONDS = 1.0
"""How long `flush` waits for turns that were just stopped, and have not ended yet."""

_TOLD = ("dataset", "llm", *Stages._fields)


class TraceWriter:
    """Writes turns to an experiment in a thread, in their order: no answer waits for a database.

    What cannot be written is dropped, with one warning.

    Args:
        connection: to the experiment; the thread opens it.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.has_written = False
        self._waiting: deque[Row] = deque()
        self._running = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._warned = False
        self._given_up = False

    def start(self) -> None:
        """Begin to connect, if that has not begun. The end of the program then waits for what it has added."""
        with self._changed:
            if self._thread is None:
                for name in ("thread", "process"):  # MLflow needs them, and once a program ends they refuse to load
                    import_module(f"concurrent.futures.{name}")
                atexit.register(self._finish)
                self._thread = threading.Thread(target=self._run, name="mlflow", daemon=True)
                self._thread.start()

    def begin(self) -> None:
        """A turn begins, which `add` will bring."""
        with self._changed:
            self._running += 1

    def add(self, turn: Row) -> None:
        """Have a turn written soon that has ended."""
        with self._changed:
            self._running -= 1
            room = len(self._waiting) < MOST
            if room:
                self._waiting.append(turn)
            self._changed.notify_all()
        if not room:
            self._warn_once("they come faster than MLflow takes them")

    def flush(self, seconds: float) -> int:
        """Wait until all turns are written, at most so many seconds; return how many are not."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._waiting or self._running), min(seconds, STOPPED_SECONDS))
            self._changed.wait_for(lambda: not self._waiting, max(0.0, seconds - STOPPED_SECONDS))
            self._given_up = bool(self._waiting)
            return len(self._waiting)

    def _finish(self) -> None:
        """Wait at the end of the process, unless `flush` has waited in vain already."""
        if not self._given_up and (left := self.flush(PROGRAM_SECONDS)):
            self._warn_once(f"{left} were not written in {PROGRAM_SECONDS:.0f} s")

    def _run(self) -> None:
        self._try_to_write()  # nothing yet: it connects
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                turn = self._waiting[0]
            self._try_to_write(turn)
            with self._changed:
                self._waiting.popleft()
                self._changed.notify_all()

    def _try_to_write(self, *turns: Row) -> None:
        try:
            self.connection.open().traces.write(turns)
            self.has_written |= bool(turns)
        except Exception as error:  # no trace is worth a turn
            self._warn_once(self.connection.explain(error))

    def _warn_once(self, reason: str) -> None:
        with self._changed:
            warned, self._warned = self._warned, True
        if not warned:
            log.warning("the traces of turns of conversations are not in MLflow, or not all: %s", reason)


class ConversationTraces:
    """The turns of one pipeline as traces.

    Args:
        writer: writes them.
        config: of the pipeline.
        model: the name that a server gives to it; else empty.
    """

    def __init__(self, writer: TraceWriter, config: Mapping[str, Any], model: str) -> None:
        self._writer = writer
        self._config = config
        self._tags = {"convrag.configuration": describe_options(config), "convrag.model": model}
        writer.start()  # MLflow is imported while the first question is typed

    def begin_turn(self, question: Question) -> TurnTrace:
        """Note that a turn begins."""
        self._writer.begin()
        return TurnTrace(self._config, question)

    def end_turn(self, turn: TurnTrace, record: TurnRecord) -> None:
        """Have a turn written that has ended."""
        turn.end()
        row = turn.make(record)
        self._writer.add({**row, "tags": {**row["tags"], **self._tags}})


def describe_options(config: Mapping[str, Any]) -> str:
    """`dataset=sample llm=extractive memory=all rewriter=last_n ...`: the options of the stages of a turn."""
    options = {group: config[group].get(OPTION_KEY) for group in _TOLD if isinstance(config.get(group), Mapping)}
    return " ".join(f"{group}={option}" for group, option in options.items() if option)
