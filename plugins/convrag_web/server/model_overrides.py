"""The parameter `task.models`: names of models, each with the overrides of its configuration."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from hydra.core.hydra_config import HydraConfig

from convrag import ConfigError
from convrag.sdk.tasks.options import variants


def read_model_overrides(models: Mapping[str, str | list[str]] | Path) -> dict[str, list[str]]:
    """Return name -> overrides, to be added to the command's own.

    Args:
        models: overrides by name, as one text or as a list, or a folder of presets.

    Raises:
        ConfigError: no model is named, or a text cannot be split into overrides.
    """
    if isinstance(models, Path):
        return _read_folder(models)
    if not models:
        raise ConfigError(
            "task.models={}: name a model, as in task.models='{mmr: \"rewriter=mmr\"}'"
        )
    return {name: _split_overrides(name, overrides) for name, overrides in models.items()}


def _split_overrides(name: str, overrides: str | list[str]) -> list[str]:
    if not isinstance(overrides, str):
        return list(overrides)
    try:
        return shlex.split(overrides)
    except ValueError as error:
        raise ConfigError(f"task.models: {name}: {overrides}: {error}") from error


def _read_folder(folder: Path) -> dict[str, list[str]]:
    """Read the presets of a folder: the folder's name is a config group in the folder above it."""
    folder = folder.absolute()
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if not names:
        raise ConfigError(
            f"task.models={folder}: there is no folder with YAML files, one for each model"
        )
    taken = sorted(set(names) & set(variants(folder.name)))
    if taken:
        raise ConfigError(
            f"task.models={folder}: {taken[0]} is also one of ours; rename the file, or the folder"
        )
    places = [*_list_search_path(), f"file://{folder.parent}"]
    search_path = f"hydra.searchpath=[{', '.join(map(_quote, places))}]"
    return {name: [search_path, f"+{folder.name}={name}"] for name in names}


def _list_search_path() -> list[str]:
    if not HydraConfig.initialized():
        return []
    return list(HydraConfig.get().searchpath)


def _quote(text: str) -> str:
    """Quote a text as an element of a list in Hydra's grammar."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
