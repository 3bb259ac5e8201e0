"""Asks a stage from many threads at once, so that data of one call that another call changes shows in the answers."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

EVERY_LINE = 20
"""So many lines of a thread's are each followed by a pause, later ones ever fewer: loops would take too long."""

PAUSE = 1e-5
"""Seconds of a pause, in which the other threads go on."""


def call_from_threads(functions: Sequence[Callable[[], T]], modules: Set[str]) -> list[T]:
    """Call each function in a thread of its own, all at the same moment; return the results in order.

    Python lets a thread run for five milliseconds, in which a short call ends undisturbed: a race shows once in
    thousands of turns. So each thread pauses between the lines of the named modules.

    Args:
        functions: what to call.
        modules: names of modules and of top packages ("acme").
    """
    barrier = Barrier(len(functions))

    def call(number: int) -> T:
        barrier.wait()
        with _pause_between_lines(modules, random.Random(number)):
            return functions[number]()

    with ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(call, range(len(functions))))


def list_modules(cls: type) -> set[str]:
    """List the modules that a stage's class and its bases stand in, and the top packages of those of plugins."""
    modules = {base.__module__ for base in cls.__mro__} - {"builtins", "abc", "typing"}
    return modules | {module.partition(".")[0] for module in modules} - {"convrag"}


@contextmanager
def _pause_between_lines(modules: Set[str], chance: random.Random) -> Iterator[None]:
    """Let the current thread pause between lines of the named modules."""
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

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)
