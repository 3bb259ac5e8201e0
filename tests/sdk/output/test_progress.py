import io
import logging
import sys
import threading

import pytest

from convrag.sdk.output import progress, step_progress
from convrag.sdk.output.printable import format_duration
from convrag.sdk.output.progress import (
    count_parts,
    show_step,
    track,
    turn_progress,
    within_grid,
)
from convrag.sdk.output.step_progress import StepProgress, tell_now_and_then


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in the place of standard error; no fixture, for pytest takes that back before a
    test begins.
    """
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def test_a_run_by_itself_has_a_bar_of_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with turn_progress(2) as advance:
        advance()
        advance()
    assert "Turns" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()
    assert "Cells" not in terminal.getvalue()


def test_a_cell_moves_the_bar_of_its_grid_by_its_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with within_grid(1, 4, alone=True), turn_progress(2) as advance:
        advance()
        advance()
    shown = terminal.getvalue()
    assert shown.index("Cells") < shown.index("Turns")
    assert "1/4" in shown
    assert "2/4" in shown


def test_several_processes_leave_the_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with within_grid(1, 4, alone=False):
        assert list(track([1, 2], "Reading")) == [1, 2]
        with turn_progress(2) as advance:
            advance()
    assert terminal.getvalue() == ""


def test_a_step_in_another_thread_stands_below_the_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that the first turn fits is seen, in the same display: two would overwrite each
    other.
    """
    terminal = watched(monkeypatch)
    seen: list[list[str]] = []

    def fit() -> None:
        with show_step("Fitting embeddings"):
            assert progress._display.shown is not None
            seen.append([task.description for task in progress._display.shown.tasks])

    with within_grid(0, 2, alone=True), turn_progress(2):
        worker = threading.Thread(target=fit)
        worker.start()
        worker.join()
    assert seen == [["Cells", "Turns", "Fitting embeddings"]]
    assert progress._display.shown is None
    assert progress._display.rows == 0
    assert "Cells" in terminal.getvalue()


def test_a_cell_has_its_bar_before_the_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with within_grid(2, 4, alone=True), show_step("Preparing embedder=lsa"):
        pass
    assert "2/4" in terminal.getvalue()
    assert "Preparing embedder=lsa" in terminal.getvalue()


def test_a_step_that_takes_a_while_is_told_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(step_progress, "_TIMES", (0.0, 3600.0))
    monkeypatch.setattr(progress, "_LOGGED", 0.0)
    told = threading.Event()
    written = sys.stderr.write
    monkeypatch.setattr(sys.stderr, "write", lambda text: (written(text), told.set()))
    with caplog.at_level(logging.INFO, "convrag"), show_step("Preparing embedder=lsa"):
        assert told.wait(60)
    assert capsys.readouterr().err == "convrag: Preparing embedder=lsa: 0.0 s so far\n"
    assert caplog.messages == [
        "Preparing embedder=lsa: 0.0 s so far",
        "Preparing embedder=lsa: 0.0 s",
    ]


def test_a_terminal_has_its_rows_and_the_log_the_lines(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    terminal = watched(monkeypatch)
    with caplog.at_level(logging.INFO, "convrag"), show_step("Fitting"):
        progress._tell("Fitting: 10 s so far")
    assert caplog.messages == ["Fitting: 10 s so far"]
    assert "so far" not in terminal.getvalue()


def test_a_cell_of_several_processes_writes_to_its_log_alone(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "convrag"), within_grid(2, 9, alone=False):
        progress._tell("Turns: 3 of 4")
    assert caplog.messages == ["cell 3 of 9: Turns: 3 of 4"]
    assert capsys.readouterr().err == ""


def test_a_short_step_is_not_told(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "convrag"):
        assert list(track([1, 2], "Reading")) == [1, 2]
    assert capsys.readouterr().err == ""
    assert caplog.messages == []


def test_durations_read_well() -> None:
    told = [format_duration(seconds) for seconds in (0.04, 9.9, 12.4, 99.0, 100.0, 3500.0, 7000.0)]
    assert told == ["0.0 s", "9.9 s", "12 s", "99 s", "2 min", "58 min", "1.9 h"]


def test_a_command_in_a_notebook_has_no_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter gives it a terminal, and shows each drawing of a bar below the last one."""
    terminal = watched(monkeypatch)
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    with turn_progress(3) as advance:
        for _ in range(3):
            advance()
    assert "━" not in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()


def tell_until(
    step: StepProgress, end: float, parts_per_second: float = 0.0
) -> list[tuple[float, str]]:
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
    lines = [
        line
        for _, line in tell_until(StepProgress("Embedding cloud", 18_000, started=0.0), 3600, 5.0)
    ]
    assert lines[0] == "Embedding cloud: 50 of 18,000 (0 %) after 10 s, about 60 min left"
    assert lines[4] == "Embedding cloud: 1,200 of 18,000 (7 %) after 4 min, about 56 min left"
    assert lines[-1] == "Embedding cloud: 17,700 of 18,000 (98 %) after 59 min, about 60 s left"
    assert len(lines) == 5 + 11


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
    """ "Preparing retriever=dense" says nothing while "Embedding cloud" does; turns go on beside a
    fit of a thread.
    """
    tellers = {}
    monkeypatch.setattr(
        progress,
        "tell_now_and_then",
        lambda step, tell, wait: tellers.setdefault(step.description, tell),
    )
    told: list[str] = []
    monkeypatch.setattr(progress, "_tell", told.append)

    def started(name: str) -> None:
        for thread in threading.enumerate():
            if thread.name == "progress":
                thread.join(60)
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
