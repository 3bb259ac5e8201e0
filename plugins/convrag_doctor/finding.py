"""What the doctor finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

Level = Literal["ok", "-", "warn", "fail"]


class Finding(NamedTuple):
    """A line: all is well (ok), not here and not needed (-), odd (warn), or in the way of a run (fail)."""

    level: Level
    about: str
    message: str = ""


Examination = Callable[[], Iterable[Finding]]
