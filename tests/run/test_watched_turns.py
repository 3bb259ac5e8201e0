"""A tracker may watch the stages of a run's turns."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from convrag.api.records import Run, TurnRecord
from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from convrag_mlflow.tracker import AutoTracker

STAGES = ["memory", "rewriter", "retriever", "reranker", "selector", "context", "generator"]


def test_a_tracker_hears_of_each_stage_from_the_threads_of_the_conversations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: dict[str, list[tuple[str, TurnRecord]]] = defaultdict(list)
    threads: set[str] = set()
    runs: list[Run] = []

    def watch(stage: str, record: TurnRecord) -> None:
        heard[record.turn_id].append((stage, record))
        threads.add(threading.current_thread().name)

    def watch_turns(self: AutoTracker, run: Run) -> Callable[[str, TurnRecord], None]:
        runs.append(run)
        return watch

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(AutoTracker, "watch_turns", watch_turns)
    config = compose("limit=2", "generator=none", "workers=2", "tracker=auto", "metrics=[]")
    monkeypatch.setattr(AutoTracker, "convrag_run_finished", lambda self, run, summary: None)  # MLflow is not needed
    run, summary = run_experiment(config, tmp_path / "run")
    assert [each.folder for each in runs] == [run.folder]
    assert len(heard) == summary.turns
    assert all([stage for stage, _ in told] == STAGES for told in heard.values())
    for told in heard.values():
        found = dict(told)
        assert not found["rewriter"].hits
        assert found["retriever"].hits
        assert set(found["context"].timings) == set(STAGES[:-1])
    assert threading.current_thread().name not in threads
