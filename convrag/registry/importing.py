"""Imports the code of plugins: their prints go to standard error, and a failure names its place.

Where a library is missing, the metadata of distributions tells what to install.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import metadata
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


_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:.*extra\s*==\s*['\"](?P<extra>[^'\"]+))?", re.ASCII)
"""A requirement in a distribution's metadata: `qdrant-client>=1.16; extra == "qdrant"`."""


def find_install(module: str, distributions: Iterable[str]) -> str:
    """Return what to install for a module that is missing: "acme[neural]", or "numpy".

    Args:
        module: the library, as it is imported.
        distributions: installed ones; the first that requires the module gives the answer.

    Returns:
        Empty where none of them requires a distribution that is named like the module.
    """
    wanted = _fold(module)
    for distribution in distributions:
        try:
            requirements = metadata.requires(distribution) or []
        except (metadata.PackageNotFoundError, ValueError):  # a file, or no name at all
            continue
        for requirement in requirements:
            match = _REQUIREMENT.match(requirement)
            if match and _fold(match["name"]) == wanted:
                return f"{distribution}[{match['extra']}]" if match["extra"] else match["name"]
    return ""


def _fold(name: str) -> str:
    """Return a name without what modules and distributions write differently: opensearch-py."""
    return re.sub(r"[-_.]", "", name).casefold()
