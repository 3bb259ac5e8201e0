"""The configurations of a grid's cells: composed once, when the grid is planned, and handed to the launcher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigSource
from hydra.types import RunMode
from omegaconf import DictConfig


class ComposedCells(ConfigLoader):
    """Composes the configurations of cells. One that was kept is handed out once: who asks for it changes it.

    Processes of a launcher get none of those that are kept, and compose their own.

    Args:
        loader: Hydra's own loader.
    """

    def __init__(self, loader: ConfigLoader) -> None:
        self._loader = loader
        self._kept: dict[tuple[str, ...], DictConfig] = {}

    def keep(self, overrides: Sequence[str], config: DictConfig) -> None:
        """Keep the configuration of a cell for the next `load_sweep_config` with these overrides."""
        self._kept[tuple(overrides)] = config

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """Return the configuration of a cell: the one that was kept, or a new one."""
        kept = self._kept.pop(tuple(sweep_overrides), None)
        return self._loader.load_sweep_config(master_config, sweep_overrides) if kept is None else kept

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """Compose a configuration, as Hydra's own loader does."""
        return self._loader.load_configuration(config_name, overrides, run_mode, from_shell, validate_sweep_overrides)

    def get_search_path(self) -> ConfigSearchPath:
        """Return where configurations are looked for."""
        return self._loader.get_search_path()

    def get_sources(self) -> list[ConfigSource]:
        """Return what is there."""
        return self._loader.get_sources()

    def list_groups(self, parent_name: str) -> list[str]:
        """List the groups below another one."""
        return self._loader.list_groups(parent_name)

    def get_group_options(
        self,
        group_name: str,
        results_filter: ObjectType | None = ObjectType.CONFIG,
        config_name: str | None = None,
        overrides: list[str] | None = None,
    ) -> list[str]:
        """List the options of a group."""
        return self._loader.get_group_options(group_name, results_filter, config_name, overrides)

    def compute_defaults_list(self, config_name: str | None, overrides: list[str], run_mode: RunMode) -> Any:
        """Compute the defaults list of a configuration."""
        return self._loader.compute_defaults_list(config_name, overrides, run_mode)

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process gets."""
        return {"_loader": self._loader, "_kept": {}}
