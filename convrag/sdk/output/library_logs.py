"""Logs and progress bars of libraries.

A program that uses convrag sets the levels and handlers of its loggers as it likes, litellm's,
httpx's and MLflow's too. convrag's own command owns its process, and keeps their messages off the
terminal and out of convrag.log.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["hide_transformers_bars", "limit_logs", "owns_logs"]

_limits: dict[str, int] = {}
"""Logger -> the level that a plugin has asked for, even if it is not set."""

_owned = False


def limit_logs(level: int, *names: str) -> None:
    """Limit loggers to records of this level and above, if this process is convrag's command.

    Args:
        level: such as `logging.WARNING`.
        names: of the loggers.
    """
    for name in names:
        _limits[name] = level
        if _owned:
            logging.getLogger(name).setLevel(level)


def owns_logs() -> bool:
    """Whether this process is convrag's command, so that levels and handlers are ours to set."""
    return _owned


def own_logs() -> None:
    """Let `limit_logs` set levels from now on. Only convrag's own command calls it."""
    global _owned
    _owned = True
    limits = dict(_limits)
    for name, level in limits.items():
        logging.getLogger(name).setLevel(level)


@contextmanager
def hide_transformers_bars() -> Iterator[None]:
    """Hide the progress bars of transformers, which it draws even for local files."""
    from transformers.utils import logging as transformers_logging

    were_enabled = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if were_enabled:
            transformers_logging.enable_progress_bar()
