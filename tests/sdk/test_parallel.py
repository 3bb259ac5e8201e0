"""Calls side by side: in order, counted, and ended by the first error."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from convrag.api.completions import Completion, Message, Prompt
from convrag.api.records import Usage
from convrag.concurrency.cancellation import sleep
from convrag.sdk.parallel import map_parallel
from convrag.store.usage_meter import UsageMeter, add_reply, add_usage


def prompt(number: int) -> Prompt:
    return Prompt("judge", (Message("user", str(number)),))


def ask(number: int) -> int:
    """A call that takes the longer the earlier it is in its batch, and is told something."""
    time.sleep(0.002 * (4 - number % 5))
    add_usage(Usage(calls=1, cost_usd=0.1))
    add_reply(prompt(number), Completion(str(number)))
    return 2 * number


def measured(
    call: Callable[[int], int], items: range, workers: int
) -> tuple[list[int], UsageMeter]:
    meter = UsageMeter()
    with meter.measure_stage("metrics.x"):
        return list(map_parallel(call, items, "Asking", workers=workers)), meter


def test_results_come_in_order_and_count_for_who_asks() -> None:
    found, meter = measured(ask, range(200), 32)
    assert found == [2 * n for n in range(200)]
    assert meter.usage == {"metrics.x": Usage(calls=200, cost_usd=pytest.approx(20.0))}


def test_what_was_told_and_paid_is_the_same_however_calls_overtake_each_other() -> None:
    found, meter = measured(ask, range(60), 16)
    one_by_one = measured(ask, range(60), 1)
    assert found == one_by_one[0]
    assert [completion.text for _, completion in meter.replies] == [str(n) for n in range(60)]
    assert meter.replies == one_by_one[1].replies
    assert meter.usage == one_by_one[1].usage  # to the last digit of a cent


def test_items_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []
    results = map_parallel(
        lambda n: n, (taken.append(n) or n for n in range(1000)), "Asking", workers=2
    )
    assert next(results) == 0
    assert len(taken) <= 4
    results.close()


def test_the_first_error_ends_it_and_what_was_spent_until_then_counts() -> None:
    asked: list[int] = []

    def fails(number: int) -> int:
        asked.append(number)
        add_usage(Usage(calls=1))
        if number == 3:
            raise ValueError("no")
        return number

    meter = UsageMeter()
    with meter.measure_stage("metrics.x"), pytest.raises(ValueError, match="no"):
        list(map_parallel(fails, range(1000), "Asking", workers=2))
    assert len(asked) < 20
    assert meter.usage == {"metrics.x": Usage(calls=len(asked))}


def wait_or_note(ended: list[int]) -> Callable[[int], int]:
    """A call that waits for long, and notes it where that is cut short; the first three begin
    together.
    """
    begun = threading.Barrier(3)

    def call(number: int) -> int:
        if number < 3:
            begun.wait(60)
        if number == 0:
            return 0
        try:
            sleep(60)
        finally:
            ended.append(number)
        return number

    return call


def interrupt(results: Iterator[int]) -> None:
    for _ in results:
        raise KeyboardInterrupt


def test_an_interruption_cancels_the_calls_in_progress_and_no_others() -> None:
    ended: list[int] = []
    others: list[int] = []
    other = map_parallel(wait_or_note(others), range(3), "Asking", workers=3)
    assert next(other) == 0
    results = map_parallel(wait_or_note(ended), range(100), "Asking", workers=3)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt(results)
    results.close()
    assert time.monotonic() - start < 30
    assert 2 <= len(ended) <= 3
    assert others == []
    other.close()
    assert sorted(others) == [1, 2]


def test_calls_in_calls_are_cancelled_with_them() -> None:
    ended: list[int] = []
    inner = wait_or_note(ended)

    def call(number: int) -> list[int]:
        return [inner(0)] if number == 0 else list(map_parallel(inner, [1, 2], "Asking", workers=2))

    results = map_parallel(call, range(2), "Asking", workers=2)
    assert next(results) == [0]
    results.close()
    assert sorted(ended) == [1, 2]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("side")]


def test_a_call_that_hangs_is_left_behind() -> None:
    begun, hung = threading.Barrier(3), threading.Event()

    def call(number: int) -> bool:
        begun.wait(60)
        return number > 0 and hung.wait(60)

    results = map_parallel(call, range(3), "Asking", workers=3)
    assert not next(results)
    start = time.monotonic()
    results.close()
    assert time.monotonic() - start < 30
    left = [thread for thread in threading.enumerate() if thread.name.startswith("side")]
    assert left
    assert all(thread.daemon for thread in left)
    hung.set()


def test_what_is_paid_for_is_kept_after_an_error() -> None:
    """Calls in progress go on to their end."""
    begun, done = threading.Barrier(2), list[int]()

    def call(number: int) -> int:
        begun.wait(60)
        if number == 1:
            raise ValueError("no")
        time.sleep(0.3)
        done.append(number)
        return number

    with pytest.raises(ValueError, match="no"):
        list(map_parallel(call, range(2), "Asking", workers=2))
    assert done == [0]
