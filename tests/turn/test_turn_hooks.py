"""Hooks tell of each turn, at every door: of one that failed or was stopped, too."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from convrag import ConfigError, Pipeline, Question, TurnRecord, hookimpl
from convrag.concurrency.cancellation import Cancelled
from convrag.config.compose import compose, compose_command
from convrag.run.runner import run_experiment
from convrag.sdk.errors import RunStopped
from convrag.turn import observers
from convrag.turn.observers import Observers, ending_conversations
from convrag.turn.turn import Audience, StageFinished, Stages
from convrag.turn.wiring import Wiring

STAGES = [stage for stage in Stages._fields if stage != "search"]  # one search is planned by nobody


class Told:
    """What is told of one turn."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.stages: list[str] = []
        self.records: list[TurnRecord] = []
        self.ends: list[TurnRecord] = []


class Log:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: dict[str, Told] = {}
        self.turns: list[Told] = []
        self.threads: set[str] = set()
        self.models: list[str] = []
        self.seconds: list[float] = []

    @hookimpl
    def convrag_turn_started(
        self, question: Question, config: Mapping[str, Any], model: str
    ) -> None:
        self.told[question.turn_id] = Told(question)
        self.turns.append(self.told[question.turn_id])
        self.models.append(model)

    @hookimpl
    def convrag_stage_finished(self, question: Question, stage: str, record: TurnRecord) -> None:
        assert question is self.told[question.turn_id].question
        self.told[question.turn_id].stages.append(stage)
        self.told[question.turn_id].records.append(record)
        self.threads.add(threading.current_thread().name)

    @hookimpl
    def convrag_turn_ended(self, question: Question, record: TurnRecord) -> None:
        assert question is self.told[question.turn_id].question
        self.told[question.turn_id].ends.append(record)

    @hookimpl
    def convrag_conversations_ended(self, seconds: float) -> str:
        self.seconds.append(seconds)
        return "all is written"


@pytest.fixture
def pipeline(here: Path) -> Pipeline:
    return Pipeline.compose("rewriter=last_n", "generator=direct")


def watch(pipeline: Pipeline) -> Log:
    log = Log()
    pipeline.audience = Audience(Observers(log), {}, "mine")
    return log


def test_a_turn_is_told_of_with_its_stages_and_the_history_that_it_saw(pipeline: Pipeline) -> None:
    log, heard = watch(pipeline), list[object]()
    first = pipeline.turn("a", "How far is the Moon?")
    second = pipeline.turn("a", "And its age?", listener=heard.append, stages=True)
    again = pipeline.regenerate("a")
    assert [told.ends for told in log.turns] == [[first], [second], [again]]
    assert [told.stages for told in log.turns] == [STAGES] * 3
    assert [event.stage for event in heard if isinstance(event, StageFinished)] == STAGES
    expected = [[], ["How far is the Moon?"], ["How far is the Moon?"]]
    assert [[turn.question for turn in told.question.history] for told in log.turns] == expected
    assert again.attempt == 1
    assert log.models == ["mine"] * 3


def test_a_turn_that_fails_is_told_of_with_its_error(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = watch(pipeline)

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
    log = watch(pipeline)

    def stop(*_: object) -> None:
        raise error

    monkeypatch.setattr(pipeline.stages.retriever, "retrieve", stop)
    with pytest.raises(type(error)):
        pipeline.turn("a", "How far is the Moon?")
    (told,) = log.turns
    assert [record.error for record in told.ends] == [said]
    assert told.ends[0].original_query == "How far is the Moon?"
    assert set(told.ends[0].timings) == {"memory", "rewriter", "retriever"}


def test_the_turns_of_a_run_are_told_of_by_the_threads_of_its_conversations(here: Path) -> None:
    log = Log()
    config = compose("limit=2", "generator=none", "workers=2", "tracker=none", "metrics=[]")
    _, summary = run_experiment(config, here / "run", log)
    assert len(log.turns) == summary.turns
    for told in log.turns:
        assert told.stages == STAGES
        found = dict(zip(told.stages, told.records, strict=True))
        assert not found["rewriter"].hits
        assert found["retriever"].hits
        assert set(found["context"].timings) == set(STAGES[:-1])
    assert threading.current_thread().name not in log.threads


def test_by_default_no_tracker_is_built(here: Path) -> None:
    wiring = Wiring(*compose_command("generator=none", "tracker=auto"))
    Pipeline.for_conversations(wiring, Pipeline.compose("generator=none").settings, None)
    assert "tracker" not in wiring.stages


def test_a_tracker_without_such_a_parameter_is_an_error(here: Path) -> None:
    with pytest.raises(ConfigError, match="parameter 'traces' does not exist"):
        Pipeline.compose("tracker=none", "tracker.traces=true")


def test_the_observers_of_a_command_share_the_time_at_its_end_and_each_line_is_shown_once() -> None:
    log, lines = Log(), list[str]()
    with ending_conversations([Observers(log), Observers(log)], lines.append):
        time.sleep(0.01)
    assert lines == ["all is written"]
    assert log.seconds == pytest.approx([observers.ENDING_SECONDS] * 2, abs=20)


def test_an_interrupted_command_waits_for_moments() -> None:
    log = Log()
    with pytest.raises(KeyboardInterrupt), ending_conversations([Observers(log)], print):
        raise KeyboardInterrupt
    (seconds,) = log.seconds
    assert seconds <= observers.INTERRUPTED_SECONDS
