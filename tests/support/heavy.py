"""A stage that keeps its promises, in a module that imports what it should not."""

import numpy

from sound import SoundRanker

assert numpy


class Heavy(SoundRanker):
    """Sits in a heavy module."""
