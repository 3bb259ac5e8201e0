"""Installed distributions that depend on convrag and register nothing: their entry point was forgotten or misspelt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import metadata

from convrag import PluginError
from convrag.sdk.tasks.options import FIRST_PARTY, GROUP

_LIKENESS = 0.75
"""How like "convrag" the name of an entry-point group must be to be taken for a slip of the pen."""


def find_unregistered() -> Iterator[PluginError]:
    """Yield what is wrong with each distribution that needs convrag, and has no entry point in its group."""
    seen = set[str]()
    for distribution in metadata.distributions():
        name = str(distribution.metadata["Name"])
        if name in seen or name == FIRST_PARTY or not _needs_convrag(distribution):
            continue
        seen.add(name)
        groups = sorted({entry_point.group for entry_point in distribution.entry_points})
        if GROUP in groups:
            continue
        near = get_close_matches(GROUP, groups, n=1, cutoff=_LIKENESS)
        reason = (
            f"its entry points are in the group {near[0]!r}, which must be {GROUP!r}"
            if near
            else "it has no entry point in the group 'convrag'"
        )
        yield PluginError(
            f"{name} depends on convrag and registers nothing: {reason}. Write [project.entry-points.{GROUP}] with "
            f'NAME = "PACKAGE" into its pyproject.toml, and install it again',
            plugin=near[0] if near else name,
            distribution=name,
        )


def _needs_convrag(distribution: metadata.Distribution) -> bool:
    """Whether a distribution needs convrag in any case: not for an extra of its own."""
    for requirement in distribution.requires or ():
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        if name and name[0].lower() == FIRST_PARTY and "extra ==" not in requirement:
            return True
    return False
