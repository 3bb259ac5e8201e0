"""Calls side by side: in order, counted, and ended by the first error."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from convrag.api.records import Usage
from convrag.api.types import Completion, Message, Prompt
from convrag.sdk.parallel import map_parallel
from convrag.store.usage import UsageMeter, add_reply, add_usage


def prompt(number: int) -> Prompt:
    return Prompt("judge", (Message("user", str(number)),))


def ask(number: int) -> int:
    """A call that takes the longer the earlier it is in its batch, and is told something."""
    time.sleep(0.002 * (4 - number % 5))
    add_usage(Usage(calls=1, cost_usd=0.1))
    add_reply(prompt(number), Completion(str(number)))
    return 2 * number


def measured(call: Callable[[int], int], items: range, workers: int) -> tuple[list[int], UsageMeter]:
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


def test_nobody_needs_to_measure() -> None:
    assert list(map_parallel(ask, range(5), "Asking")) == [0, 2, 4, 6, 8]


def test_items_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []
    results = map_parallel(lambda n: n, (taken.append(n) or n for n in range(1000)), "Asking", workers=2)
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
