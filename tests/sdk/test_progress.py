from __future__ import annotations

import io
import sys

import pytest

from convrag.sdk.progress import track, turn_progress, within_grid


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in the place of standard error; no fixture, for pytest takes that back before a test begins."""
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
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
