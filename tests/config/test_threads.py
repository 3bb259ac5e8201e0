"""Pipelines are composed from several threads at once, also as the first thing that a process does."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from convrag.config import compose as composing, option_source as loading
from convrag.registry import plugins


@pytest.fixture
def fresh() -> Iterator[None]:
    """The state in which a process starts; what was loaded before is there again afterwards."""
    before = plugins.load()
    plugins.forget()
    loading.forget()
    yield
    plugins.forget(before)
    loading.forget()


def slow(function: Any, calls: list[int]) -> Any:
    def called(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        time.sleep(0.05)
        return function(*args, **kwargs)

    return called


@pytest.mark.usefixtures("fresh")
def test_six_threads_compose_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a lock, the second thread found a configuration that the first had only begun to
    make.
    """
    loaded: list[int] = []
    monkeypatch.setattr(plugins, "Plugins", slow(plugins.Plugins, loaded))
    monkeypatch.setattr(loading, "_make_nodes", slow(loading._make_nodes, []))
    together = Barrier(6)

    def compose(_: int) -> Any:
        together.wait()
        return composing.compose("rewriter=none").rewriter

    with ThreadPoolExecutor(6) as pool:
        assert {str(node) for node in pool.map(compose, range(6))} == {"{'_option_': 'none'}"}
    assert len(loaded) == 1, "one registry for the whole process"
