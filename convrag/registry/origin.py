"""Who brings a plugin: an installed distribution, or a file."""

from functools import lru_cache
from importlib import metadata
from typing import NamedTuple

from convrag.api.errors import PluginError

FIRST_PARTY = "convrag"
"""The distribution of convrag's own plugins."""


class Origin(NamedTuple):
    """The plugin's name, and the distribution or the file that brings it."""

    plugin: str
    distribution: str
    version: str = ""

    @property
    def name(self) -> str:
        """The name of the plugin for pluggy, and in traces and warnings."""
        return f"{self.distribution}:{self.plugin}"

    def order(self) -> tuple[bool, str, str]:
        """Return the order of loading: our own plugins, then others by distribution and name."""
        return self.distribution != FIRST_PARTY, self.distribution, self.plugin

    def error(self, problem: str, hook: str = "") -> PluginError:
        """Make the error that says what is wrong with the plugin, or with one of its hooks."""
        subject = f"{hook} of plugin" if hook else "plugin"
        message = f"{subject} {self.plugin!r} of {self.distribution} {problem}"
        return PluginError(message, plugin=self.plugin, distribution=self.distribution)


def read_origin(entry_point: metadata.EntryPoint) -> Origin:
    """Return who brings an entry point."""
    if entry_point.dist is None:
        return Origin(entry_point.name, "an unknown distribution")
    name, version = _read_name_and_version(entry_point.dist)
    return Origin(entry_point.name, name, version)


@lru_cache
def _read_name_and_version(distribution: metadata.Distribution) -> tuple[str, str]:
    """Read both from metadata that is parsed once; the library parses it anew for each of them."""
    described = distribution.metadata
    return described["Name"], described["Version"]
