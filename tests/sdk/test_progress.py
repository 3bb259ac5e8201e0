import io
import logging
import sys
import threading

import pytest

from convrag.sdk import progress
from convrag.sdk.printable import format_duration
from convrag.sdk.progress import show_preparation, show_step, track, turn_progress, within_grid


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in the place of standard error; no fixture, for pytest takes that back before a test begins."""
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
    """A model that the first turn fits is seen, in the same display: two would overwrite each other."""
    terminal = watched(monkeypatch)
    seen: list[list[str]] = []

    def fit() -> None:
        with show_step("Fitting embeddings"):
            assert progress._display is not None
            seen.append([task.description for task in progress._display.tasks])

    with within_grid(0, 2, alone=True), turn_progress(2):
        worker = threading.Thread(target=fit)
        worker.start()
        worker.join()
    assert seen == [["Cells", "Turns", "Fitting embeddings"]]
    assert progress._display is None
    assert progress._rows == 0
    assert "Cells" in terminal.getvalue()


def test_a_cell_has_its_bar_before_the_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with within_grid(2, 4, alone=True), show_preparation("Preparing embedder=lsa"):
        pass
    assert "2/4" in terminal.getvalue()
    assert "Preparing embedder=lsa" in terminal.getvalue()


def test_a_step_that_takes_a_while_is_told_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(progress, "_TIMES", (0.0, 3600.0))
    monkeypatch.setattr(progress, "_LOGGED", 0.0)
    told = threading.Event()
    written = sys.stderr.write
    monkeypatch.setattr(sys.stderr, "write", lambda text: (written(text), told.set()))
    with caplog.at_level(logging.INFO, "convrag"), show_step("Preparing embedder=lsa"):
        assert told.wait(10)
    assert capsys.readouterr().err == "convrag: Preparing embedder=lsa: 0.0 s so far\n"
    assert caplog.messages == ["Preparing embedder=lsa: 0.0 s so far", "Preparing embedder=lsa: 0.0 s"]


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


def test_a_short_step_is_not_told(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
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
