"""Calls from several threads at once, which pause between lines so that races show."""

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Lock, Semaphore
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

EVERY_LINE = 20
"""The first lines of a thread, each of which is followed by a pause.

Of later lines ever fewer are, because loops would take too long.
"""

PAUSE = 1e-5
"""Seconds of a pause, in which the other threads go on."""

_installing = Lock()
"""Python refuses to install the trace functions of two threads at the same moment."""


def call_from_threads(functions: Sequence[Callable[[], T]], modules: Set[str]) -> list[T]:
    """Call each function in its own thread, all at the same moment; return the results in order.

    Python lets a thread run for five milliseconds, in which a short call ends undisturbed: a race
    shows once in thousands of turns. So each thread pauses between the lines of the named modules.

    Args:
        functions: the functions to call.
        modules: names of modules and of top packages ("acme").
    """
    barrier = Barrier(len(functions))
    started = Semaphore(0)

    def call(number: int) -> T:
        started.release()
        barrier.wait()
        with _pause_between_lines(modules, random.Random(number)):
            return functions[number]()

    calls = []
    with ThreadPoolExecutor(len(functions)) as pool:
        for number in range(len(functions)):
            calls.append(pool.submit(call, number))
            started.acquire()  # one after the other: coverage installs a trace function in each
    return [each.result() for each in calls]


def list_modules(cls: type) -> set[str]:
    """List the modules of a stage's class and its bases, and the top packages of plugins."""
    modules = {base.__module__ for base in cls.__mro__} - {"builtins", "abc", "typing"}
    packages = {module.partition(".")[0] for module in modules} - {"convrag"}
    return modules | packages


@contextmanager
def _pause_between_lines(modules: Set[str], chance: random.Random) -> Iterator[None]:
    """Let the current thread pause between lines of the named modules.

    It does not if a debugger or coverage follows the thread.
    """
    if sys.gettrace():  # two that trace a thread wait for each other
        yield
        return
    lines = 0

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        name = str(frame.f_globals.get("__name__", ""))
        return pause if name in modules or name.partition(".")[0] in modules else None

    def pause(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if chance.random() * lines < EVERY_LINE:
                time.sleep(PAUSE)
        return pause

    with _installing:
        sys.settrace(enter)
    try:
        yield
    finally:
        with _installing:
            sys.settrace(None)
