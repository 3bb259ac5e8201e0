"""Turns that are answered again: what the store has of an earlier attempt is not used.

    with answer_again(1):  # the second answer to a question
        llm.complete(prompt)  # is asked, though the store has a reply to this prompt

The number is part of the key of each call that depends on a language model, so that the same attempt after a crash pays
nothing twice. All other results (embeddings, scores of rankers) are used again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from weakref import WeakSet

from convrag.api.models import LLM
from convrag.api.stage import Stage

_attempt: ContextVar[int] = ContextVar("convrag_attempt", default=0)
_asking: WeakSet[Stage] = WeakSet()
"""The stages that ask a language model, themselves or by a stage that was injected."""


@contextmanager
def answer_again(attempt: int) -> Iterator[None]:
    """Let the calls that this thread makes during the block be those of an attempt; 0 is the first."""
    token = _attempt.set(attempt)
    try:
        yield
    finally:
        _attempt.reset(token)


def note_injected(stage: Stage, injected: Iterable[Stage | None]) -> None:
    """Remember whether a stage asks a language model: one of those that were injected into it is one, or asks one."""
    if any(isinstance(each, LLM) or each in _asking for each in injected if each is not None):
        _asking.add(stage)


def find_attempt(stage: Stage) -> int:
    """Return the attempt that a call of a stage belongs to: 0 for one that asks no language model."""
    return _attempt.get() if isinstance(stage, LLM) or stage in _asking else 0
