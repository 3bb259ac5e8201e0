"""Each stage's plainest option: all passages, one prompt, or nothing at all."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_basics.context import FullContext
from convrag_basics.direct import DirectGenerator
from convrag_basics.nothing import NoClusterer, NoGenerator, NoRanker, NoTracker

__all__ = ["DirectGenerator", "FullContext", "NoClusterer", "NoGenerator", "NoRanker", "NoTracker"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("context", "full", FullContext)
    register("generator", "direct", DirectGenerator)
    register("generator", "none", NoGenerator)
    register("ranker", "none", NoRanker)
    register("clusterer", "none", NoClusterer)
    register("tracker", "none", NoTracker)
