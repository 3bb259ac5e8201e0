"""Who brings a plugin: a distribution by an entry point, or a file; and which convrag it was made for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from typing import NamedTuple

from convrag.api.errors import PluginError

FIRST_PARTY = "convrag"

_REQUIREMENT = re.compile(r"\s*convrag\s*(?![\w.-])", re.IGNORECASE)


class Origin(NamedTuple):
    """Who brings a plugin: a distribution, or a file."""

    plugin: str
    distribution: str
    version: str = ""

    @property
    def name(self) -> str:
        """Names the plugin for pluggy, and in traces and warnings."""
        return f"{self.distribution}:{self.plugin}"

    def error(self, problem: str, hook: str = "") -> PluginError:
        """The error that says what is wrong with the plugin, or with one of its hooks."""
        subject = f"{hook} of plugin" if hook else "plugin"
        message = f"{subject} {self.plugin!r} of {self.distribution} {problem}"
        return PluginError(message, plugin=self.plugin, distribution=self.distribution)


def sort_first_party_first(entry_points: Iterable[metadata.EntryPoint]) -> list[metadata.EntryPoint]:
    """Our own entry points, then those of others by distribution and name."""

    def order(entry_point: metadata.EntryPoint) -> tuple[bool, str, str]:
        name, distribution, _ = read_origin(entry_point)
        return distribution != FIRST_PARTY, distribution, name

    return sorted(entry_points, key=order)


def read_origin(entry_point: metadata.EntryPoint) -> Origin:
    """Who brings an entry point."""
    distribution, version = _described(entry_point.dist) if entry_point.dist else ("an unknown distribution", "")
    return Origin(entry_point.name, distribution, version)


@lru_cache
def _described(distribution: metadata.Distribution) -> tuple[str, str]:
    """Name and version; the library parses the metadata anew for each of them."""
    described = distribution.metadata
    return described["Name"], described["Version"]


def find_unmet_requirement(distribution: metadata.Distribution | None) -> str:
    """Return the versions of convrag that a distribution is made for ("<0.3,>=0.2"); empty where this is one of them.

    pip checks the same line when it installs the plugin; it is broken where convrag is installed anew afterwards.
    """
    lines = (distribution.requires or []) if distribution else []
    for line in filter(_REQUIREMENT.match, lines):  # most name others, and packaging takes a while to import
        from packaging.requirements import Requirement

        requirement = Requirement(line)
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and not requirement.specifier.contains(metadata.version(FIRST_PARTY), prereleases=True):
            return str(requirement.specifier)
    return ""
