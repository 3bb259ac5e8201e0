"""Values that are made once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from convrag.api.errors import ConfigError, DataError
from convrag.sdk.lazy import Lazy, collect_problems


def test_many_threads_and_one_value() -> None:
    started = threading.Barrier(4)
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    value = Lazy(make)

    def ask(_: int) -> object:
        started.wait(timeout=60)
        return value()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) == set(made)
    assert len(made) == 1


def test_nothing_is_a_value_too() -> None:
    made: list[int] = []
    value = Lazy(lambda: made.append(1))
    assert [value(), value()] == [None, None]
    assert made == [1]


def test_an_error_is_not_kept() -> None:
    results = iter([DataError("it is broken", path="x"), "mended"])

    def make() -> object:
        if isinstance(result := next(results), Exception):
            raise result
        return result

    value = Lazy(make)
    with pytest.raises(DataError, match="it is broken"):
        value()
    assert [value(), value()] == ["mended", "mended"]


def test_problems_are_each_said_once_in_order() -> None:
    def fails(message: str) -> None:
        raise ConfigError(message)

    assert collect_problems(
        lambda: fails("b"), lambda: 1, lambda: fails("a"), lambda: fails("b")
    ) == ["b", "a"]
    with pytest.raises(ZeroDivisionError):  # a mistake of ours is no problem of the user's
        collect_problems(lambda: 1 / 0)
