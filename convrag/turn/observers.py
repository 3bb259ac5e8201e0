"""Calls the hooks of a run's or pipeline's own observers, and of every plugin that observes."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from convrag.api.errors import StageFault, locate_error
from convrag.concurrency.exits import is_failure
from convrag.registry import plugins
from convrag.registry.hook_calls import make_manager, warn_of_hook

ENDING_SECONDS = 30.0
"""Seconds that the end of a chat or a server waits until its turns are logged."""

INTERRUPTED_SECONDS = 1.5
"""Seconds that it waits after a signal: the process ends soon, whatever a database does."""


class Observers:
    """Calls the observing hooks of one run or pipeline.

    Its own observers come first and may stop it, as a full disk must. A plugin that raises causes
    one warning.

    Args:
        own: objects with methods that `@hookimpl` marks.
    """

    def __init__(self, *own: object) -> None:
        self._plugins = plugins.load().manager
        self._own = make_manager()
        for observer in reversed(own):  # pluggy begins with the last
            self._own.register(observer)
        hooks = [*vars(self._plugins.hook).items(), *vars(self._own.hook).items()]
        self._failed: set[str] = set()
        self._implemented = frozenset(name for name, hook in hooks if hook.get_hookimpls())

    def implements(self, hook: str) -> bool:
        """Whether any observer implements a hook."""
        return hook in self._implemented

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call a hook of every observer that implements it."""
        if self.implements(hook):
            self.collect(hook, **arguments)

    def collect(self, hook: str, **arguments: Any) -> list[Any]:
        """Call a hook of every observer, and gather the results that are not None.

        Wrappers of plugins see all of them.
        """
        own = self._collect_own(hook, arguments)
        own_calls = [lambda result=result: result for result in reversed(own)]
        plugin_hook = getattr(self._plugins.hook, hook)
        try:
            results: list[Any] = plugin_hook.call_extra(own_calls, arguments)
        except BaseException as error:
            if not is_failure(error):
                raise
            # It is a wrapper's: the errors of the others are caught before
            self._warn_of_wrapper(plugin_hook, error)
            return own
        return results

    def _collect_own(self, hook: str, arguments: Mapping[str, Any]) -> list[Any]:
        """Call a hook of the run's own observers, such as its tracker.

        Raises StageFault instead of what would end the process, and any other error as it is.
        """
        try:
            results: list[Any] = getattr(self._own.hook, hook)(**arguments)
        except Exception:
            raise
        except BaseException as error:
            if not is_failure(error):
                raise
            problem = f"{type(error).__name__}: {error} ({locate_error(error, ())})"
            raise StageFault(f"{hook} failed: {problem}") from error
        return results

    def _warn_of_wrapper(self, hook: Any, error: BaseException) -> None:
        wrappers = [
            each.plugin_name for each in hook.get_hookimpls() if each.wrapper or each.hookwrapper
        ]
        names = f"{' or '.join(wrappers)}, a wrapper"
        place = locate_error(error, ())
        warn_of_hook(names, hook.name, error, place, again=hook.name in self._failed)
        self._failed.add(hook.name)


@contextmanager
def ending_conversations(
    observers: Iterable[Observers], show: Callable[[str], object]
) -> Iterator[None]:
    """Tell observers that the conversations of the block have ended.

    Args:
        observers: the observers of each pipeline.
        show: is called with each line that an observer returns, once.
    """
    seconds = INTERRUPTED_SECONDS
    try:
        yield
        seconds = ENDING_SECONDS
    finally:
        deadline = time.monotonic() + seconds
        lines: list[str] = []
        for each in observers:
            left = max(0.0, deadline - time.monotonic())
            lines += each.collect("convrag_conversations_ended", seconds=left)
        for line in dict.fromkeys(lines):
            show(line)
