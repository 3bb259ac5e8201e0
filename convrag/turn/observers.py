"""Who watches: a run's or a pipeline's own observers (files, tracker), and every plugin with an
observing hook.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from convrag.api.errors import locate_error
from convrag.registry import plugins
from convrag.registry.hook_calls import make_manager, warn_of_hook

ENDING_SECONDS = 30.0
"""How long the end of a chat or a server waits until its turns are logged."""

INTERRUPTED_SECONDS = 1.5
"""How long it waits where a signal ends it: the process ends soon, whatever a database does."""


class Observers:
    """Calls the observing hooks of one run or pipeline.

    Its own observers come first and may stop it (a full disk must); a plugin that raises costs one
    warning.

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
        self.heard = frozenset(name for name, hook in hooks if hook.get_hookimpls())
        """The hooks that anybody implements."""

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call a hook of every observer; where nobody implements it, nothing is called."""
        if hook in self.heard:
            self.collect(hook, **arguments)

    def collect(self, hook: str, **arguments: Any) -> list[Any]:
        """Call a hook of every observer, and gather what they give that is not None; wrappers of
        plugins see it all.
        """
        own: list[Any] = getattr(self._own.hook, hook)(**arguments)
        given = [lambda result=result: result for result in reversed(own)]
        theirs = getattr(self._plugins.hook, hook)
        try:
            found: list[Any] = theirs.call_extra(given, arguments)
        except Exception as error:  # of a wrapper: the others are guarded
            wrappers = [
                each.plugin_name
                for each in theirs.get_hookimpls()
                if each.wrapper or each.hookwrapper
            ]
            named, place = f"{' or '.join(wrappers)}, a wrapper", locate_error(error, ())
            warn_of_hook(named, hook, error, place, again=hook in self._failed)
            self._failed.add(hook)
            return own
        return found


@contextmanager
def ending_conversations(
    observers: Iterable[Observers], show: Callable[[str], object]
) -> Iterator[None]:
    """Tell observers that the conversations of the block have ended, and show each line that they
    return once.
    """
    seconds = INTERRUPTED_SECONDS
    try:
        yield
        seconds = ENDING_SECONDS
    finally:
        until = time.monotonic() + seconds
        said = [
            line
            for each in observers
            for line in each.collect(
                "convrag_conversations_ended", seconds=max(0.0, until - time.monotonic())
            )
        ]
        for line in dict.fromkeys(said):
            show(line)
