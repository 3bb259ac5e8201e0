"""One thread for the numerical libraries, for work that several of their threads slow down."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_limited = threading.Lock()


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Let the numerical libraries run in one thread during a fit.

    Several threads would add up in any order, and for a small fit they would wait for each other
    longer than they compute. The limit holds for the whole process, so a second block waits for the
    first.
    """
    with _limited, _find_thread_pools().limit(limits=1):
        yield


@cache
def _find_thread_pools() -> Any:
    """Find the libraries that run threads of their own, which takes longer than a fit."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
