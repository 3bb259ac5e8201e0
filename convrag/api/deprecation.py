"""An old name of an option or a parameter that is still understood, for a while."""

import logging
from dataclasses import dataclass
from functools import cache

log = logging.getLogger(__name__)


@cache
def _warn_once(old: str, new: str, distribution: str, until: str) -> None:
    log.warning("%s is deprecated: write %s. %s %s will not understand it", old, new, distribution, until)


@dataclass(frozen=True)
class Deprecated:
    """Marks the old name of a parameter, or of an option, that has a new one. To use it is a warning, and works.

        def __init__(self, *, words: int = 8, length: Annotated[int | None, Deprecated("words", "0.3")] = None)

        register("rewriter", "acme_gentle", Deprecated("acme_soft", "0.3"))

    Args:
        instead: the new name.
        until: the version of the plugin that will not understand the old name any more.
    """

    instead: str
    until: str

    def warn(self, old: str, new: str, distribution: str) -> None:
        """Say once in this process that `old` is `new` now, and until which version of a distribution it is understood.

        Args:
            old: what was given: "rewriter.length".
            new: what to give in its place: "rewriter.words".
            distribution: whose name it is.
        """
        _warn_once(old, new, distribution, self.until)
