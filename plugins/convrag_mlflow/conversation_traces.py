"""The turns of conversations, which belong to no run, as traces: those of a chat, of a server and of programs."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from convrag import Question, TurnRecord
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.tasks.turns import Stages
from convrag_mlflow.background_writer import BackgroundWriter
from convrag_mlflow.connection import Connection
from convrag_mlflow.turn_notes import Row, make_row, note_stage

if TYPE_CHECKING:
    from convrag_mlflow.stage_spans import Exchange

log = logging.getLogger(__name__)

SUFFIX = " conversations"
"""Behind the experiment's name: MLflow would list these turns among those of all its runs."""


_TOLD = ("dataset", "llm", *Stages._fields)


class EndedTurn(NamedTuple):
    """A turn that is to be written; `log` is whose it is."""

    log: ConversationTraces
    record: TurnRecord
    stages: Sequence[Row]
    history: tuple[Exchange, ...]
    start: int
    end: int


class TraceWriter:
    """Writes turns to an experiment, for all pipelines of a tracker.

    Args:
        connection: to the experiment.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.has_written = False
        self.writer = BackgroundWriter[EndedTurn](connection.open, self._write, self._warn)

    def flush(self, seconds: float) -> str:
        """Wait until all turns are written; where they can be seen, or that they could not be written in time."""
        if left := self.writer.flush(seconds):
            log.warning("the traces of %d turns are not in MLflow: it has not taken them in %.1f s", left, seconds)
            return ""
        return self.connection.describe() if self.has_written else ""

    def _write(self, turns: Sequence[EndedTurn]) -> None:
        experiment = self.connection.open()
        from convrag_mlflow.turn_spans import make_turn

        for of, group in groupby(turns, key=attrgetter("log")):
            made = (
                make_turn(
                    {**make_row(each.record, each.stages), "start": each.start, "end": each.end},
                    None if of.config.get("history") == "none" else each.history,
                    of.config,
                )
                for each in group
            )
            experiment.traces.write("", made, of.tags)
        self.has_written = True

    def _warn(self, error: Exception | None) -> None:
        reason = self.connection.explain(error) if error else "they come faster than MLflow takes them"
        log.warning("the traces of turns of conversations are not in MLflow, or not all: %s", reason)


class ConversationTraces:
    """The turns of one pipeline as traces.

    Args:
        writer: writes them.
        config: of the pipeline.
        model: the name that a server gives to it; else empty.
    """

    def __init__(self, writer: TraceWriter, config: Mapping[str, Any], model: str) -> None:
        self.config = config
        self.tags = {"convrag.configuration": describe_options(config)} | ({"convrag.model": model} if model else {})
        self._writer = writer
        writer.writer.start()  # MLflow is imported while the first question is typed

    def begin_turn(self, question: Question) -> TurnTrace:
        """Note that a turn begins."""
        self._writer.writer.announce()
        return TurnTrace(self, self._writer.writer, question)


class TurnTrace:
    """One turn while it runs.

    Args:
        traces: whose turn it is.
        writer: takes it at its end.
        question: with the history that the turn sees.
    """

    def __init__(self, traces: ConversationTraces, writer: BackgroundWriter[EndedTurn], question: Question) -> None:
        self._traces = traces
        self._writer = writer
        self._history = tuple({"question": turn.question, "answer": turn.answer} for turn in question.history)
        self._start = time.time_ns()
        self._stages: list[Row] = []

    def end_stage(self, stage: str, record: TurnRecord) -> None:
        """Note that a stage has ended."""
        self._stages.append(note_stage(stage, record))

    def end_turn(self, record: TurnRecord) -> None:
        """Have the turn written."""
        ended = EndedTurn(self._traces, record, self._stages, self._history, self._start, time.time_ns())
        self._writer.add(ended)


def describe_options(config: Mapping[str, Any]) -> str:
    """`dataset=sample llm=extractive memory=all rewriter=last_n ...`: the options of the stages of a turn."""
    options = {group: config[group].get(OPTION_KEY) for group in _TOLD if isinstance(config.get(group), Mapping)}
    return " ".join(f"{group}={option}" for group, option in options.items() if option)
