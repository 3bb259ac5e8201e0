"""A command: its overrides, and the names that were chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from convrag.api.groups import GROUPS

APPLICATION = "convrag"
"""The name of the command among the applications of Hydra."""


def find_running_hydra() -> Any:
    """Return Hydra's part of the configuration of the command that is being carried out.

    None where there is none: in a program that uses convrag, or in another application of Hydra.
    """
    from hydra.core.hydra_config import HydraConfig  # tab completion does without
    from hydra.core.utils import JobRuntime

    is_ours = HydraConfig.initialized() and JobRuntime().get("name") == APPLICATION
    return HydraConfig.get() if is_ours else None


def list_overrides(hydra: Any) -> list[str]:
    """List a command's overrides as they were typed, given Hydra's part of its configuration.

    To Hydra they are values, so that reading one resolves its references, such as
    ${oc.env:PASSWORD}.
    """
    from omegaconf import OmegaConf  # tab completion does without

    typed: Any = OmegaConf.to_container(hydra.overrides.task, resolve=False)
    return list(typed)


@dataclass(frozen=True)
class Command:
    """A command.

    Args:
        overrides: in Hydra's words: "rewriter=mmr", "clusterer@rewriter.clusterer=lsa".
        chosen: group, or group@place, -> the name that was chosen, which may be a variant's ("llm"
            -> "claude").
        in_grid: whether it is one cell of many.
    """

    overrides: Sequence[str] = ()
    chosen: Mapping[str, Any] = field(default_factory=dict)
    in_grid: bool = False

    @classmethod
    def read(cls) -> Command:
        """Return the command that is being carried out; an empty one outside of a command."""
        hydra = find_running_hydra()
        if hydra is None:
            return cls()
        in_grid = hydra.mode.name == "MULTIRUN"
        return cls(list_overrides(hydra), {**hydra.runtime.choices}, in_grid)

    @classmethod
    def of(cls, overrides: Sequence[str]) -> Command:
        """Return the command with these overrides before it is composed, when they say it all."""
        chosen = {}
        for override in overrides:
            key, _, name = override.lstrip("+").partition("=")
            if name.replace("-", "_").isidentifier():
                chosen[key] = name
        return cls(overrides, chosen)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Place ("llm", "rewriter.clusterer") -> the name of the option or variant chosen there."""
        places = {key.partition("@")[2] or key: name for key, name in self.chosen.items()}
        return {place: name for place, name in places.items() if isinstance(name, str) and name}

    def sets(self, key: str) -> bool:
        """Whether an override of the command sets a key ("rewriter.n") or a part of it.

        One that chooses an option does not set its parameters: these may come from a file.
        """
        return any(_sets(override, key) for override in self.overrides)


def read_place(override: str) -> str:
    """Return the key that an override sets.

    It is "rewriter.clusterer" for `clusterer@rewriter.clusterer=lsa`.
    """
    key = override.partition("=")[0].lstrip("+~").strip()
    return key.partition("@")[2] or key


def _sets(override: str, key: str) -> bool:
    place = read_place(override)
    if f"{place}.".startswith(f"{key}."):
        return True
    chooses = place in GROUPS or "@" in override.partition("=")[0]
    return key.startswith(f"{place}.") and not chooses
