"""What a user typed: the overrides of a command, and the names by which stages were chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from convrag.api.groups import GROUPS


@dataclass(frozen=True)
class Command:
    """A command.

    Args:
        overrides: as Hydra reads them: "rewriter=mmr", "clusterer@rewriter.clusterer=lsa".
        chosen: group, or group@place, -> the name that was chosen, which may be a variant's ("llm" -> "claude").
        in_grid: whether it is one cell of many.
    """

    overrides: Sequence[str] = ()
    chosen: Mapping[str, Any] = field(default_factory=dict)
    in_grid: bool = False

    @classmethod
    def read(cls) -> Command:
        """The command that Hydra is carrying out; an empty one outside of Hydra."""
        if not HydraConfig.initialized():
            return cls()
        hydra = HydraConfig.get()
        return cls([*hydra.overrides.task], {**hydra.runtime.choices}, hydra.mode is RunMode.MULTIRUN)

    @classmethod
    def of(cls, overrides: Sequence[str]) -> Command:
        """The command with these overrides, before it is composed: names are what they say."""
        pairs = [override.lstrip("+").partition("=") for override in overrides]
        return cls(overrides, {key: name for key, _, name in pairs if name.replace("-", "_").isidentifier()})

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Place ("llm", "rewriter.clusterer") -> the name of the option or the variant that was chosen there."""
        places = {key.partition("@")[2] or key: name for key, name in self.chosen.items()}
        return {place: name for place, name in places.items() if isinstance(name, str) and name}

    def sets(self, key: str) -> bool:
        """Whether an override of the command sets a key ("rewriter.n") or a part of it.

        One that chooses an option does not set its parameters: these may come from a file.
        """
        return any(_sets(override, key) for override in self.overrides)


def place_of(override: str) -> str:
    """The key that an override sets: "rewriter.clusterer" of `clusterer@rewriter.clusterer=lsa`."""
    key = override.partition("=")[0].lstrip("+~").strip()
    return key.partition("@")[2] or key


def _sets(override: str, key: str) -> bool:
    place = place_of(override)
    chooses = place in GROUPS or "@" in override.partition("=")[0]
    return f"{place}.".startswith(f"{key}.") or (key.startswith(f"{place}.") and not chooses)
