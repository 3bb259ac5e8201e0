"""Hooks are called through pluggy, and what a plugin does wrong costs one warning."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

import toys
from convrag import Report, hookimpl
from convrag.registry import plugins
from convrag.registry.plugins import Plugins
from convrag.turn.observers import Observers


def report(title: str) -> Any:
    @hookimpl
    def convrag_report(run: Any, records: Any) -> Any:
        return Report(title, (title,), {})

    return convrag_report


def collect(
    monkeypatch: pytest.MonkeyPatch, own: tuple[object, ...] = (), **hooks: Any
) -> list[str]:
    """The titles of the reports when plugins of these names implement `convrag_report`."""
    loaded = Plugins([toys.plugin(name, convrag_report=hook) for name, hook in hooks.items()])
    assert not loaded.registry.failures
    monkeypatch.setattr(plugins, "load", lambda: loaded)
    return [each.title for each in Observers(*own).collect("convrag_report", run=None, records=[])]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_reports_come_in_the_order_of_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    assert collect(monkeypatch, a_one=report("1"), b_two=report("2"), c_three=report("3")) == [
        "1",
        "2",
        "3",
    ]


def test_the_marks_of_pluggy_work(monkeypatch: pytest.MonkeyPatch) -> None:
    @hookimpl(tryfirst=True)
    def convrag_report(run: Any) -> Any:
        return Report("first", (), {})

    first = convrag_report

    @hookimpl(trylast=True)
    def convrag_report(run: Any) -> Any:  # type: ignore[no-redef]
        return Report("last", (), {})

    assert collect(monkeypatch, a_last=convrag_report, b_mid=report("mid"), c_first=first) == [
        "first",
        "mid",
        "last",
    ]


def test_a_failing_wrapper_costs_a_warning_and_the_results_of_the_plugins(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    @hookimpl(wrapper=True)
    def convrag_report(run: Any) -> Iterator[None]:
        yield
        raise ValueError("after")

    assert collect(monkeypatch, (Own("a"), Own("b")), a_wrap=convrag_report, b_one=report("1")) == [
        "a",
        "b",
    ]
    (message,) = warnings(caplog)
    assert (
        "plugin an unknown distribution:a_wrap, a wrapper: convrag_report failed: ValueError: after"
        in message
    )
    assert "test_hook_calls.py, line " in message


@pytest.mark.parametrize("result", ["a text", 3, [Report("in a list", (), {})]])
def test_a_report_that_is_none_is_one_message(
    result: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    @hookimpl
    def convrag_report(run: Any) -> Any:
        return result

    assert collect(monkeypatch, a_odd=convrag_report, b_one=report("1")) == ["1"]
    (message,) = warnings(caplog)
    assert message.startswith(
        "plugin an unknown distribution:a_odd: convrag_report failed: TypeError: it returned"
    )
    assert "which is no Report (" in message


@pytest.mark.parametrize(("result", "messages"), [(3, []), (iter(["x", "y"]), [["x", "y"]])])
def test_messages_on_a_grid_are_a_list(
    result: Any,
    messages: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    @hookimpl
    def convrag_sweep_check(sweep: Any) -> Any:
        return result

    loaded = Plugins([toys.plugin("toy_check", convrag_sweep_check=convrag_sweep_check)])
    monkeypatch.setattr(plugins, "load", lambda: loaded)
    assert Observers().collect("convrag_sweep_check", sweep=None) == messages
    assert len(warnings(caplog)) == (not messages)


def test_a_plugin_that_raises_costs_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    @hookimpl
    def convrag_turn_finished(record: Any) -> None:
        raise KeyError("mood")

    loaded = Plugins([toys.plugin("toy_moody", convrag_turn_finished=convrag_turn_finished)])
    monkeypatch.setattr(plugins, "load", lambda: loaded)
    observers = Observers()
    for _ in range(3):
        observers.notify("convrag_turn_finished", run=None, record=None)
    (message,) = warnings(caplog)
    assert message.startswith(
        "plugin an unknown distribution:toy_moody: convrag_turn_finished failed: KeyError: 'mood'"
    )
    assert "test_hook_calls.py, line " in message


class Own:
    def __init__(self, title: str, *, fails: bool = False) -> None:
        self.title, self.fails = title, fails

    @hookimpl(specname="convrag_report")
    def tell(self, run: Any) -> Any:
        if self.fails:
            raise OSError("the disk is full")
        return Report(self.title, (), {})


def test_the_runs_own_observers_stop_it_and_wrappers_see_what_they_gave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @hookimpl(wrapper=True)
    def convrag_report(run: Any) -> Iterator[None]:
        results = yield
        return [Report(f"<{each.title}>", (), {}) for each in results]

    assert collect(monkeypatch, (Own("a"), Own("b")), a_wrap=convrag_report, b_one=report("1")) == [
        "<a>",
        "<b>",
        "<1>",
    ]
    with pytest.raises(OSError, match="the disk is full"):
        collect(monkeypatch, (Own("a", fails=True),), a_wrap=convrag_report, b_one=report("1"))
