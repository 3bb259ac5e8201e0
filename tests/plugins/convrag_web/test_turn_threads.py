"""Threads of turns: an idle one takes the next turn, and each turn has a context of its own."""

import subprocess
import sys
import threading
from contextvars import ContextVar

import pytest

pytest.importorskip("fastapi")

from convrag_web.server.turn_threads import TurnThreads

_variable: ContextVar[int] = ContextVar("variable", default=0)


def run_at_once(threads: TurnThreads, count: int) -> set[int]:
    """Run so many turns at once, and return the threads that they ran in."""
    barrier = threading.Barrier(count + 1, timeout=60)
    used: set[int] = set()

    def work() -> None:
        used.add(threading.get_ident())
        barrier.wait()

    for _ in range(count):
        threads.run(work)
    barrier.wait()
    return used


def wait_until_idle(threads: TurnThreads, count: int) -> None:
    for _ in range(1000):
        if threads._idle == count:
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"{threads._idle} threads are idle, not {count}")


def test_threads_are_used_again_and_as_many_begin_as_are_needed() -> None:
    threads = TurnThreads()
    first = run_at_once(threads, 8)
    assert len(first) == 8
    wait_until_idle(threads, 8)
    assert run_at_once(threads, 5) <= first
    wait_until_idle(threads, 8)
    assert len(run_at_once(threads, 12) | first) == 12


def test_a_turn_sees_nothing_of_the_last_one() -> None:
    threads = TurnThreads()
    seen: list[int] = []
    done = threading.Semaphore(0)

    def work() -> None:
        seen.append(_variable.get())
        _variable.set(1)
        done.release()

    for _ in range(3):
        threads.run(work)
        assert done.acquire(timeout=60)
        wait_until_idle(threads, 1)
    assert seen == [0, 0, 0]


def test_a_stage_that_never_ends_does_not_keep_the_process_alive() -> None:
    program = (
        "import threading\n"
        "from convrag_web.server.turn_threads import TurnThreads\n"
        "begun = threading.Event()\n"
        "def work():\n"
        "    begun.set()\n"
        "    threading.Event().wait()\n"
        "TurnThreads().run(work)\n"
        "begun.wait()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
