"""Threads compute a few at a time, and let others compute while they wait."""

import threading
import time
from collections.abc import Callable

import pytest

from convrag.concurrency import slots as slots_module
from convrag.concurrency.cancellation import sleep
from convrag.concurrency.slots import ComputeSlots, release_slot
from convrag.sdk.parallel import call_in_threads


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots_module, "LONGEST_WAIT", 30.0)


def run_threads(count: int, call: Callable[[], None]) -> None:
    threads = [threading.Thread(target=call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def count_most(slots: ComputeSlots, wait: Callable[[], None]) -> int:
    """How many of 12 threads compute at once, at most, where each computes, waits and computes."""
    guard = threading.Lock()
    computing = most = 0

    def compute() -> None:
        nonlocal computing, most
        with guard:
            computing += 1
            most = max(most, computing)
        time.sleep(0.002)
        with guard:
            computing -= 1

    def work() -> None:
        with slots.hold():
            compute()
            wait()
            compute()

    run_threads(12, work)
    return most


def test_so_many_compute_at_once() -> None:
    assert count_most(ComputeSlots(3), lambda: sleep(0.01)) == 3


def test_those_that_wait_hold_no_slot() -> None:
    """With a slot each for the whole time, twelve waits of .05 s through two slots would take .3 s."""
    barrier = threading.Barrier(12, timeout=60)

    def wait() -> None:
        with release_slot(), release_slot():  # one within another gives back no more than one
            barrier.wait()

    assert count_most(ComputeSlots(2), wait) <= 2


def test_a_stage_that_calls_in_threads_waits_for_them() -> None:
    barrier = threading.Barrier(3, timeout=60)

    def wait() -> None:
        with call_in_threads(lambda _: barrier.wait(), range(1), 1, "side") as results:
            list(results)

    slots = ComputeSlots(1)
    done: list[int] = []

    def work() -> None:
        with slots.hold():
            wait()
            done.append(1)

    run_threads(3, work)
    assert len(done) == 3


def test_a_slot_is_free_again_whatever_happens() -> None:
    slots = ComputeSlots(1)
    for _ in range(3):
        with pytest.raises(KeyError), slots.hold(), release_slot():
            raise KeyError
    assert slots._free._value == 1


def test_one_that_waits_without_saying_so_keeps_nobody_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slots_module, "LONGEST_WAIT", 0.01)
    slots, end = ComputeSlots(1), threading.Event()

    def block() -> None:
        with slots.hold():
            end.wait(60)

    blocked = threading.Thread(target=block)
    blocked.start()
    with slots.hold(), release_slot():
        pass
    end.set()
    blocked.join()
    assert slots._free._value == 1


def test_another_thread_gives_the_slot_of_one_that_hangs_back() -> None:
    slots, end, held = ComputeSlots(1), threading.Event(), threading.Event()
    release: list[Callable[[], None]] = []

    def hang() -> None:
        with slots.hold() as release_it:
            release.append(release_it)
            held.set()
            end.wait(60)

    thread = threading.Thread(target=hang)
    thread.start()
    assert held.wait(60)
    release[0]()
    release[0]()  # a slot is given back once
    assert slots._free.acquire(blocking=False)
    assert not slots._free.acquire(blocking=False)
    slots._free.release()
    end.set()
    thread.join(60)
    assert slots._free.acquire(blocking=False)
    assert not slots._free.acquire(blocking=False)
