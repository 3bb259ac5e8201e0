"""A grid as Hydra knows it, and the configurations of its cells, each composed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.plugins.launcher import Launcher
from omegaconf import DictConfig


class ComposedCells:
    """Hydra's loader of configurations, with those of the cells that were composed already.

    Each of these is handed out once, because Hydra changes it. The processes of a launcher compose
    their own.

    Args:
        loader: Hydra's own loader.
    """

    def __init__(self, loader: ConfigLoader) -> None:
        self._loader = loader
        self._composed: dict[tuple[str, ...], DictConfig] = {}

    def keep(self, overrides: Sequence[str], config: DictConfig) -> None:
        """Keep a cell's configuration for the next `load_sweep_config` with these overrides."""
        self._composed[tuple(overrides)] = config

    def load_sweep_config(
        self, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        """Return the configuration of a cell: the one that was kept, or a new one."""
        config = self._composed.pop(tuple(sweep_overrides), None)
        if config is not None:
            return config
        return self._loader.load_sweep_config(master_config, sweep_overrides)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return ComposedCells, (self._loader,)


@dataclass(frozen=True)
class Grid:
    """A grid as Hydra gives it to a sweeper.

    Args:
        config: the command's configuration, with Hydra's part in it.
        overrides: those of the command line, with lists of values among them.
        params: the factors of a ready grid (conf/sweep/): key -> values.
        loader: composes the configuration of a cell, and keeps it for the launcher.
        launcher: runs cells, in this process or in others.
        batch: how many cells the launcher gets at once; None for all.
    """

    config: DictConfig
    overrides: Sequence[str]
    params: Mapping[str, Any]
    loader: ComposedCells
    launcher: Launcher
    batch: int | None = None
