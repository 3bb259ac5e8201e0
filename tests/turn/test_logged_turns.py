"""A pipeline tells its log of each turn: of one that failed or was stopped, too."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from convrag import ConfigError, ConversationLog, Pipeline, Question, RunStopped, TurnLog, TurnRecord
from convrag.config.compose import compose_command
from convrag.store.cancellation import Cancelled
from convrag.turn import logged_turns
from convrag.turn.logged_turns import find_log, flushing
from convrag.turn.turn import Stages
from convrag.turn.wiring import Wiring

STAGES = list(Stages._fields)


class Log(ConversationLog):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.turns: list[Told] = []
        self.flushed: list[float] = []

    def begin_turn(self, question: Question) -> Told:
        self.turns.append(Told(question))
        return self.turns[-1]

    def flush(self, seconds: float) -> str:
        self.flushed.append(seconds)
        return "all is written"


class Told(TurnLog):
    """What is told of one turn."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.stages: list[str] = []
        self.ends: list[TurnRecord] = []

    def end_stage(self, stage: str, record: TurnRecord) -> None:
        self.stages.append(stage)

    def end_turn(self, record: TurnRecord) -> None:
        self.ends.append(record)


@pytest.fixture
def pipeline(here: Path) -> Pipeline:
    return Pipeline.compose("rewriter=last_n", "generator=direct")


def make_log(pipeline: Pipeline) -> Log:
    pipeline.log = log = Log()
    return log


def test_a_turn_is_told_of_with_its_stages_and_the_history_that_it_saw(pipeline: Pipeline) -> None:
    log, watched = make_log(pipeline), list[str]()
    first = pipeline.turn("a", "How far is the Moon?")
    second = pipeline.turn("a", "And its age?", watch=lambda stage, record: watched.append(stage))
    again = pipeline.regenerate("a")
    assert [told.ends for told in log.turns] == [[first], [second], [again]]
    assert [told.stages for told in log.turns] == [STAGES] * 3
    assert watched == STAGES
    assert [[turn.question for turn in told.question.history] for told in log.turns] == [
        [],
        ["How far is the Moon?"],
        ["How far is the Moon?"],
    ]
    assert again.attempt == 1


def test_a_turn_that_fails_is_told_of_with_its_error(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log(pipeline)

    def fail(*_: object) -> None:
        raise ValueError("the index is gone")

    monkeypatch.setattr(pipeline.stages.retriever, "retrieve", fail)
    record = pipeline.turn("a", "How far is the Moon?")
    (told,) = log.turns
    assert told.ends == [record]
    assert told.stages == ["memory", "rewriter"]
    assert "the index is gone" in record.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Cancelled(), "retriever: stopped before its end"),
        (KeyboardInterrupt(), "retriever: stopped before its end"),
        (RunStopped("the budget is spent"), "retriever: the budget is spent"),
    ],
)
def test_a_turn_that_is_stopped_is_told_of_and_what_stopped_it_goes_on(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, error: BaseException, said: str
) -> None:
    log = make_log(pipeline)

    def stop(*_: object) -> None:
        raise error

    monkeypatch.setattr(pipeline.stages.retriever, "retrieve", stop)
    with pytest.raises(type(error)):
        pipeline.turn("a", "How far is the Moon?")
    (told,) = log.turns
    assert [record.error for record in told.ends] == [said]
    assert told.ends[0].original_query == "How far is the Moon?"
    assert set(told.ends[0].timings) == {"memory", "rewriter", "retriever"}


def test_a_turn_that_is_stopped_between_two_stages_is_told_of(pipeline: Pipeline) -> None:
    log = make_log(pipeline)

    def leave(stage: str, record: TurnRecord) -> None:
        if stage == "retriever":
            raise Cancelled

    with pytest.raises(Cancelled):
        pipeline.turn("a", "How far is the Moon?", watch=leave)
    (told,) = log.turns
    assert told.stages[-1] == "retriever"
    assert [record.error for record in told.ends] == ["retriever: stopped before its end"]


def test_by_default_no_tracker_is_built_and_nobody_is_told(here: Path) -> None:
    wiring = Wiring(*compose_command("generator=none", "tracker=auto"))
    assert find_log(wiring) is None
    assert "tracker" not in wiring.stages


def test_a_tracker_without_such_a_parameter_is_an_error(here: Path) -> None:
    with pytest.raises(ConfigError, match="parameter 'traces' does not exist"):
        Pipeline.compose("tracker=none", "tracker.traces=true")


def flush_after(block: Callable[[], None]) -> tuple[Log, list[str]]:
    log, lines = Log(), list[str]()
    with flushing([log, None, log], lines.append):
        block()
    return log, lines


def test_the_logs_of_a_command_are_written_at_its_end_and_say_where_once() -> None:
    log, lines = flush_after(lambda: None)
    assert lines == ["all is written"]
    assert log.flushed == pytest.approx([logged_turns.FLUSH_SECONDS] * 2, abs=1)


def test_an_interrupted_command_waits_for_moments() -> None:
    log = Log()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), flushing([log], print):
        interrupt()
    assert log.flushed == pytest.approx([logged_turns.INTERRUPTED_SECONDS], abs=0.5)


def test_logs_share_the_time_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    log, lines = Log(), list[str]()
    monkeypatch.setattr(logged_turns, "FLUSH_SECONDS", 0.05)
    monkeypatch.setattr(Log, "flush", lambda self, seconds: self.flushed.append(seconds) or time.sleep(0.1) or "")
    logs: list[ConversationLog | None] = [log, log]
    with flushing(logs, lines.append):
        pass
    assert log.flushed[1] == 0
    assert lines == []
