"""Who watches: a run's or a pipeline's own observers (files, tracker), and every plugin with an observing hook."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from convrag.api.errors import ConfigError
from convrag.registry import plugins
from convrag.registry.hook_results import NonsenseResult, check_result
from convrag.registry.tracing import argument_names, call_traced

log = logging.getLogger(__name__)

ENDING_SECONDS = 30.0
"""How long the end of a chat or a server waits until its turns are logged."""

INTERRUPTED_SECONDS = 1.5
"""How long it waits where a signal ends it: the process ends soon, whatever a database does."""


class Observers:
    """Calls the observing hooks of one run or pipeline.

    Its own observers come first and may stop it (a full disk must); a plugin that raises costs one warning.

    Args:
        own: objects with methods that `@hookimpl` marks.

    Raises:
        ConfigError: one of them marks a wrapper, which only a plugin can be.
    """

    def __init__(self, *own: object) -> None:
        self._manager = plugins.load().manager
        self._methods: dict[str, list[Callable[..., Any]]] = {}
        for observer in own:
            for attribute in dir(observer):
                marks = self._manager.parse_hookimpl_opts(observer, attribute)
                if marks is None:
                    continue
                hook = marks.get("specname") or attribute
                if marks.get("wrapper") or marks.get("hookwrapper"):
                    name = type(observer).__name__
                    raise ConfigError(f"{name}.{attribute} is a wrapper, and only the hooks of a plugin can be one")
                self._methods.setdefault(hook, []).append(_traced(hook, observer, getattr(observer, attribute)))

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call a hook of every observer."""
        self.collect(hook, **arguments)

    def collect(self, hook: str, **arguments: Any) -> list[Any]:
        """Call a hook of every observer, and gather what they give that is not None."""
        own = self._methods.get(hook, [])[::-1]  # pluggy begins with the last
        found: list[Any] = getattr(self._manager.hook, hook).call_extra(own, arguments)
        return found

    def listen_to(self, hook: str) -> bool:
        """Whether anybody implements a hook."""
        return bool(self._methods.get(hook) or getattr(self._manager.hook, hook).get_hookimpls())


@contextmanager
def ending_conversations(observers: Iterable[Observers], show: Callable[[str], object]) -> Iterator[None]:
    """Tell observers that the conversations of the block have ended, and show each line that they return once."""
    seconds = INTERRUPTED_SECONDS
    try:
        yield
        seconds = ENDING_SECONDS
    finally:
        until = time.monotonic() + seconds
        said = [
            line
            for each in observers
            for line in each.collect("convrag_conversations_ended", seconds=max(0.0, until - time.monotonic()))
        ]
        for line in dict.fromkeys(said):
            show(line)


def _traced(hook: str, observer: object, method: Callable[..., Any]) -> Callable[..., Any]:
    """One of the run's own methods: it is traced, and what it raises goes through."""
    names, owner = argument_names(method), type(observer).__name__

    @wraps(method)
    def traced(*args: Any) -> Any:
        result = call_traced(hook, owner, method, dict(zip(names, args, strict=True)))
        try:
            return check_result(hook, result)
        except NonsenseResult as error:
            log.warning("%s: %s returned %s", owner, hook, error)
            return None

    return traced
