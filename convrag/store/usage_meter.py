"""The usage of a turn: the seconds of each stage, and the calls that are made or reused for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from convrag.api.completions import Completion, Prompt
from convrag.api.errors import RunStopped
from convrag.api.records import Usage
from convrag.concurrency.locks import ForkAware

_current: ContextVar[tuple[UsageMeter, str] | None] = ContextVar("convrag_meter", default=None)


class UsageMeter(ForkAware):
    """Measures one turn.

    `timings` (seconds) and `usage` are keyed by stage; `replies` are prompts with LLM replies.
    """

    def __init__(self) -> None:
        self.timings: dict[str, float] = {}
        self.usage: dict[str, Usage] = {}
        self.replies: list[tuple[Prompt, Completion]] = []
        super().__init__()

    def add(self, name: str, usage: Usage) -> None:
        """Add to the usage of a stage."""
        with self._guard:  # a stage may ask from several threads
            self.usage[name] = self.usage.get(name, Usage()) + usage

    def merge(self, name: str, other: UsageMeter) -> None:
        """Add the usage and the replies of another meter, which may still grow, to a stage."""
        with other._guard:
            usages = list(other.usage.values())
        for usage in usages:
            self.add(name, usage)
        self.replies.extend(other.replies)

    @contextmanager
    def measure_stage(self, name: str) -> Iterator[None]:
        """Time a stage during the block, and count the calls of this thread as its usage."""
        token = _current.set((self, name))
        start = time.perf_counter()
        try:
            yield
        finally:
            _current.reset(token)
            self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - start


def current_meter() -> tuple[UsageMeter, str] | None:
    """Return the meter of this thread and the stage that is measured; None outside of a turn."""
    return _current.get()


def add_usage(usage: Usage) -> None:
    """Add to the usage of the stage that runs now in this thread, if a turn is being measured."""
    if current := current_meter():
        meter, name = current
        meter.add(name, usage)


@contextmanager
def count_failure(calls: int = 1) -> Iterator[None]:
    """Count the calls of the block as failed if it raises an error.

    A call that stops the run was not made.
    """
    try:
        yield
    except RunStopped:
        raise
    except Exception:
        add_usage(Usage(calls=calls, failed=calls))
        raise


def add_reply(prompt: Prompt, completion: Completion) -> None:
    """Add a prompt with its reply to the turn that is being measured in this thread, if any."""
    if current := current_meter():
        current[0].replies.append((prompt, completion))
