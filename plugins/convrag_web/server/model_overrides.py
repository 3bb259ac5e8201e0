"""The overrides of the models that `task.models` names.

task.models='{mmr: "rewriter=mmr llm=claude", dhrag: "+seed=dhrag"}'     overrides behind the command's own
task.models=mine/seed                                                    a preset for each YAML file of a folder
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from hydra.core.hydra_config import HydraConfig

from convrag import ConfigError
from convrag.sdk.tasks.options import variants


def read_model_overrides(models: Mapping[str, str | list[str]] | Path) -> dict[str, list[str]]:
    """Return name -> overrides behind the command's own. Raises ConfigError for what names no model."""
    return _read_folder(models) if isinstance(models, Path) else _read_mapping(models)


def _read_mapping(models: Mapping[str, str | list[str]]) -> dict[str, list[str]]:
    """Divide texts of overrides as a shell does."""
    if not models:
        raise ConfigError("task.models={}: name a model, as in task.models='{mmr: \"rewriter=mmr\"}'")
    named = {}
    for name, overrides in models.items():
        if not name.strip() or not name.isprintable():
            raise ConfigError(f"task.models: {name!r} is no name for a model")
        try:
            named[name] = shlex.split(overrides) if isinstance(overrides, str) else list(overrides)
        except ValueError as error:
            raise ConfigError(f"task.models: {name}: {overrides}: {error}") from error
    return named


def _read_folder(folder: Path) -> dict[str, list[str]]:
    """The presets of a folder, as Hydra finds them: its name is the group, and the folder above it is searched."""
    folder = folder.absolute()
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if not names:
        raise ConfigError(f"task.models={folder}: there is no folder with YAML files, one for each model")
    if not folder.name.isidentifier():
        raise ConfigError(f"task.models={folder}: give the folder a name of letters, digits and underscores")
    if taken := set(names) & set(variants(folder.name)):
        raise ConfigError(f"task.models={folder}: {min(taken)} is also one of ours; rename the file, or the folder")
    known = list(HydraConfig.get().searchpath) if HydraConfig.initialized() else []
    places = ", ".join(
        "'" + place.replace("\\", "\\\\").replace("'", "\\'") + "'" for place in [*known, f"file://{folder.parent}"]
    )
    return {name: [f"hydra.searchpath=[{places}]", f"+{folder.name}={name}"] for name in names}
