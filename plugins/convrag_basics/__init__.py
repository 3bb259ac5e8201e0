"""The simplest options of stages: all passages as context, one prompt as generator, and disabled stages (`none`)."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_basics.direct_generator import DirectGenerator
from convrag_basics.disabled_stages import NoClusterer, NoGenerator, NoRanker, NoTracker
from convrag_basics.full_context import FullContext

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
