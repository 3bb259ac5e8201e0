"""Plugin files that a command names itself: `plugins=[my_module.py]`. They must be loaded before Hydra composes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from convrag.api.errors import ConfigError
from convrag.config.yaml_files import read_yaml

KEY = "plugins"


def files_in_command(arguments: Sequence[str]) -> list[Path]:
    """The plugin files of a command line: those of `--config-name` in `--config-dir`, then those of its overrides.

    Paths in a configuration are relative to its file, those of the command line to the current folder.

    Raises:
        ConfigError: what stands there is no list of files.
    """
    known, rest = get_args_parser().parse_known_args(list(arguments))
    config = _users_config(known.config_dir or known.config_path, known.config_name)
    return [*(_in_config(config) if config else ()), *files_in_overrides([*known.overrides, *rest])]


def files_in_overrides(overrides: Sequence[str]) -> list[Path]:
    """The plugin files that overrides name. Raises ConfigError for what is no list."""
    given = [override for override in overrides if override.lstrip("+").startswith(f"{KEY}=")]
    return [path for override in given for path in _files(_value(override), Path())]


def _value(override: str) -> Any:
    try:
        return OverridesParser.create().parse_override(override).value()
    except OverrideParseException as error:
        raise ConfigError(f"{override}: {error}") from error


def _users_config(folder: str | None, name: str | None) -> Path | None:
    """The file of a configuration of the user's own; None for ours."""
    if folder is None or name is None:
        return None
    path = Path(folder, name if name.endswith(".yaml") else f"{name}.yaml")
    return path if path.is_file() else None


def _in_config(path: Path) -> list[Path]:
    config, _ = read_yaml(path)
    try:
        named = OmegaConf.select(config, KEY)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{path}: {KEY}: {' '.join(str(error).split())}") from error
    try:
        return list(_files(OmegaConf.to_container(named) if OmegaConf.is_config(named) else named, path.parent))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _files(value: Any, folder: Path) -> Iterator[Path]:
    if value is None:
        return
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"plugins={value}: this is a list of Python files, as in plugins=[my_plugin.py]")
    for each in value:
        yield (folder / each).absolute()
