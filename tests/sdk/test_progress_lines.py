"""What is said of long work, by a clock that the tests move."""

import threading

import pytest

from convrag.sdk import progress
from convrag.sdk.progress import StepProgress, count_parts, show_step, tell_now_and_then, turn_progress


def tell_until(step: StepProgress, end: float, parts_per_second: float = 0.0) -> list[tuple[float, str]]:
    """The lines about a step that ends at a time, with their times."""
    now, lines = [step.started], []

    def wait(seconds: float) -> bool:
        now[0] += seconds
        step.done = int((now[0] - step.started) * parts_per_second)
        return now[0] > end

    tell_now_and_then(step, lambda line: lines.append((now[0], line)), wait, lambda: now[0])
    return lines


def test_the_pauses_grow_to_five_minutes() -> None:
    lines = tell_until(StepProgress("Embedding cloud", 100_000, started=1000.0), 1000.0 + 1500, 2.0)
    assert [time - 1000 for time, _ in lines] == [10, 30, 60, 120, 240, 540, 840, 1140, 1440]


def test_an_hour_of_embedding_says_how_far_it_is_and_how_long_it_takes_yet() -> None:
    lines = [line for _, line in tell_until(StepProgress("Embedding cloud", 18_000, started=0.0), 3600, 5.0)]
    assert lines[0] == "Embedding cloud: 50 of 18,000 (0 %) after 10 s, about 60 min left"
    assert lines[4] == "Embedding cloud: 1,200 of 18,000 (7 %) after 4 min, about 56 min left"
    assert lines[-1] == "Embedding cloud: 17,700 of 18,000 (98 %) after 59 min, about 60 s left"
    assert len(lines) == 5 + 11


def test_a_short_step_says_nothing() -> None:
    assert tell_until(StepProgress("Reading", 10, started=5.0), 14.9, 1.0) == []


@pytest.mark.parametrize(
    ("total", "done", "line"),
    [
        (None, 0, "Fitting: 30 s so far"),
        (None, 1200, "Fitting: 1,200 after 30 s"),
        (10, 0, "Fitting: 30 s so far"),
        (10, 10, "Fitting: 10 of 10 (100 %) after 30 s, about 0.0 s left"),
        (10, 12, "Fitting: 12 of 10 (120 %) after 30 s, about 0.0 s left"),
    ],
)
def test_what_is_known_is_said(total: int | None, done: float, line: str) -> None:
    assert StepProgress("Fitting", total, done, started=70.0).describe(100.0) == line


def test_a_clock_that_runs_late_does_not_wait_for_what_is_past() -> None:
    waits: list[float] = []
    tell_now_and_then(
        StepProgress("Reading", started=0.0),
        lambda line: None,
        lambda seconds: waits.append(seconds) or len(waits) > 2,
        lambda: 45.0,
    )
    assert waits == [0.0, 0.0, 15.0]


def test_only_the_innermost_step_of_a_thread_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "Preparing retriever=dense" says nothing while "Embedding cloud" does; turns go on beside a fit of a thread."""
    tellers = {}
    monkeypatch.setattr(
        progress, "tell_now_and_then", lambda step, tell, wait: tellers.setdefault(step.description, tell)
    )
    told: list[str] = []
    monkeypatch.setattr(progress, "_tell", told.append)

    def started(name: str) -> None:
        for thread in threading.enumerate():
            if thread.name == "progress":
                thread.join(5)
        tellers[name](name)

    def fit() -> None:
        with show_step("Fitting"):
            started("Fitting")

    with turn_progress(2):
        worker = threading.Thread(target=fit)
        worker.start()
        worker.join()
        started("Turns")
        with count_parts("Embedding", 2) as advance:
            advance(1)
            started("Embedding")
            started("Turns")
        started("Turns")
    assert told == ["Fitting", "Turns", "Embedding", "Turns"]
