"""The loggers of libraries: limited in convrag's own command, left alone where convrag is a library
itself.

A program that uses convrag sets the levels and handlers of its loggers as it likes, litellm's,
httpx's and MLflow's too. The command owns its process, and keeps their progress off the terminal
and out of convrag.log.
"""

import logging

__all__ = ["limit_logs", "owns_logs"]

_limits: dict[str, int] = {}
"""Logger -> the level that a plugin has asked for, also where it is not set."""
_owned = False


def limit_logs(level: int, *names: str) -> None:
    """Let these loggers pass on records of this level and above, if this process is convrag's
    command.

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
    """Say that this process is convrag's command: from now on `limit_logs` sets levels. The command
    calls it.
    """
    global _owned
    _owned = True
    limits = dict(_limits)
    for name, level in limits.items():
        logging.getLogger(name).setLevel(level)
