"""Writes errors to standard error."""

import sys

from convrag.api.errors import ConvragError
from convrag.api.secrets import redact
from convrag.config.command import Command
from convrag.config.messages import explain
from convrag.config.yaml_files import cite
from convrag.registry import plugins

USAGE_ERROR = 2
"""The exit status for a mistake in the command or its data."""


def read_exit_status(error: Exception) -> int:
    """Return the exit status for an error: its own, or the one for a mistake of the user's."""
    return int(getattr(error, "exit_status", USAGE_ERROR))


def write_error(error: Exception) -> None:
    """Write what is wrong, unless it was a warning when the plugins were loaded."""
    message = describe_error(error)
    if not plugins.was_warned(message):
        write_line(message)


def describe_error(error: Exception) -> str:
    """Return the message of an error of ours or of Hydra's, with the file that caused it."""
    overrides = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if isinstance(error, ConvragError):
        known = error
    else:
        known = explain(error, plugins.load().registry, overrides)
    return str(cite(known, Command.of(overrides)))


def write_line(message: str) -> None:
    """Write a line, without secrets."""
    sys.stderr.write(f"convrag: {redact(message)}\n")
