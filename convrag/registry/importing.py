"""Imports the code of plugins: their prints go to standard error, and a failure names its place."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from threading import current_thread, main_thread

from convrag.api.errors import find_package, locate_error


@contextmanager
def redirect_prints() -> Iterator[None]:
    """Send what the block prints to standard error: the output may be JSON, or a protocol.

    Only the main thread swaps `sys.stdout`: two threads that do may put back each other's.
    """
    if current_thread() is main_thread():
        with redirect_stdout(sys.stderr):
            yield
    else:
        yield


def describe_cause(error: BaseException, module: str) -> str:
    """Return an error in one line, with its place in the package of a module."""
    text = " ".join(str(error).split())
    place = locate_error(error, {find_package(module)})
    cause = f"{type(error).__name__}: {text}"
    return f"{cause}; {place}" if place else cause
