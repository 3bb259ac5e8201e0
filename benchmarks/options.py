"""The options of every part."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """How the parts measure.

    Args:
        small: sizes that take minutes.
        passages: sizes of made corpora for lexical search.
        rounds: how often processes are measured in turns (chat and start).
        mtrag: a clone of MTRAG's repository; None leaves out what needs its pools.
        scratch: an empty folder for files.
    """

    small: bool
    passages: tuple[int, ...]
    rounds: int
    mtrag: Path | None
    scratch: Path
