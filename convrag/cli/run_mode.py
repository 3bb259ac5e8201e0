"""Whether a command is a run or a grid, found without composing its configuration a first time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra._internal.hydra import Hydra

from convrag.config.compose import CONFIG_NAME

_compose_to_find_mode = Hydra.get_mode


def find_mode_in_command() -> None:
    """Let Hydra compose a configuration once, and not twice, where nothing but the command says what it is.

    Hydra composes all of it first to read `hydra.mode`, which stands nowhere in convrag's own files.
    """
    Hydra.get_mode = _find_mode  # type: ignore[assignment, method-assign]


def _find_mode(hydra: Hydra, config_name: str | None, overrides: Sequence[str]) -> Any:
    """Return `hydra.mode` as Hydra does; None, which stands for what the flags say, where no file can set it.

    Files that can are those of --config-dir and --config-name, and presets (`+seed=mine`).
    """
    sources = {source.provider for source in hydra.config_loader.get_search_path().get_path()}
    if config_name == CONFIG_NAME and "command-line" not in sources and not any(map(_may_set_mode, overrides)):
        return None
    return _compose_to_find_mode(hydra, config_name, [*overrides])


def _may_set_mode(override: str) -> bool:
    return override.startswith(("+", "~")) or override.partition("=")[0].partition(".")[0] in ("hydra", "sweep")
