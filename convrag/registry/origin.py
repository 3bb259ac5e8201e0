"""Who brings a plugin: a distribution by an entry point, or a file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from typing import NamedTuple

from convrag.api.errors import PluginError, UnknownName

FIRST_PARTY = "convrag"


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


def find_unknown_plugins(named: set[str], found: Iterable[Origin]) -> list[PluginError]:
    """Return an error for each name in CONVRAG_DISABLE_PLUGINS that is neither a plugin's nor a distribution's."""
    known = {name for origin in found for name in (origin.plugin, origin.distribution) if " " not in name}
    return [
        PluginError(str(UnknownName("CONVRAG_DISABLE_PLUGINS: plugin", name, known)), plugin=name, distribution=name)
        for name in sorted(named - known)
    ]


def read_origin(entry_point: metadata.EntryPoint) -> Origin:
    """Who brings an entry point."""
    distribution, version = _described(entry_point.dist) if entry_point.dist else ("an unknown distribution", "")
    return Origin(entry_point.name, distribution, version)


@lru_cache
def _described(distribution: metadata.Distribution) -> tuple[str, str]:
    """Name and version; the library parses the metadata anew for each of them."""
    described = distribution.metadata
    return described["Name"], described["Version"]
