"""The one way from overrides to a checked configuration.

The command, Python (`Pipeline.compose`), the server and each cell of a grid go through
`compose_checked`; before it, `prepare_overrides` turns what a user typed into Hydra's words.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.types import RunMode
from omegaconf import DictConfig, ListConfig, OmegaConf

from convrag.api.errors import ConfigError
from convrag.config.advice import check_choices, refuse_grid
from convrag.config.checks import check_config, read_settings as read_settings
from convrag.config.choices import quote_value, translate_overrides
from convrag.config.command import Command, find_running_hydra, list_overrides
from convrag.config.loader import Place, make_loader
from convrag.config.messages import explained
from convrag.config.option_source import load_options
from convrag.config.secret_checks import refuse_secrets, refuse_secrets_in_command
from convrag.config.variants import CONFIG_MODULE as CONFIG_MODULE, variants as variants
from convrag.config.yaml_files import list_chosen_files, read_yaml, user_folder
from convrag.registry import plugins

CONFIG_NAME = "config"
"""The configuration from which a command starts: conf/config.yaml."""

_GLOBAL = re.compile(r"^#\s*@package\s+_global_\s*$", re.MULTILINE)
"""The line by which a file sets keys of the whole configuration."""


class Composed(NamedTuple):
    """A checked configuration, with Hydra's part in it, and the command that composed it."""

    full: DictConfig
    command: Command

    @property
    def config(self) -> DictConfig:
        """The configuration without Hydra's part."""
        return leave_out_hydra(self.full)


def compose(*overrides: str) -> DictConfig:
    """Return the configuration that the command would run with these overrides.

        compose("rewriter=dhrag", "top_k=20")

    Raises ConfigError for what cannot be chosen or set. Callable from any thread.
    """
    return compose_command(*overrides)[0]


def compose_command(*overrides: str) -> tuple[DictConfig, Command]:
    """Return the same as `compose`, with the command, by which messages name the choices."""
    return _compose(overrides, CONFIG_NAME, ())


def compose_from_command(*overrides: str) -> tuple[DictConfig, Command]:
    """Return the configuration of the running command with more overrides; the later of two wins.

    Files are looked for where that command looks for them (--config-dir, --config-name). Outside of
    a command, this is the same as `compose_command`, which raises the same errors.
    """
    hydra = find_running_hydra()
    if hydra is None:
        return compose_command(*overrides)
    sources = hydra.runtime.config_sources
    places = [(each.provider, f"{each.schema}://{each.path}") for each in sources]
    name = hydra.job.config_name or CONFIG_NAME
    return _compose([*list_overrides(hydra), *overrides], name, places)


def _compose(
    overrides: Iterable[str], name: str, places: Sequence[Place]
) -> tuple[DictConfig, Command]:
    """Compose a single run from the configurations at these places; by default, at ours."""
    prepared = prepare_overrides(overrides)
    refuse_grid(prepared, plugins.load().registry)

    def load() -> DictConfig:
        return make_loader(places).load_configuration(name, prepared, RunMode.RUN)

    composed = compose_checked(load, prepared)
    return composed.config, composed.command


def prepare_overrides(overrides: Iterable[str], *, multirun: bool = False) -> list[str]:
    """Load the plugin files that overrides name, and return the overrides in Hydra's words.

    Args:
        overrides: as a user types them; prepared ones stay as they are.
        multirun: whether they are a grid's.

    Raises:
        ConfigError: one of them holds a secret, or does not choose an option.
    """
    overrides = list(overrides)
    refuse_secrets_in_command(overrides)
    quoted = [quote_value(override) for override in overrides]
    load_options(find_plugin_files(quoted))
    registry = plugins.load().registry
    translated = translate_overrides(quoted, registry, multirun=multirun)
    check_choices(translated, registry)
    return translated


def prepare_help(overrides: Iterable[str]) -> list[str]:
    """Load the plugin files that overrides name, and return the overrides as they are.

    Nothing is translated or composed, so that no class is imported. Raises ConfigError.
    """
    overrides = list(overrides)
    refuse_secrets_in_command(overrides)
    load_options(find_plugin_files(overrides))
    return overrides


def compose_checked(
    load: Callable[[], DictConfig], overrides: Sequence[str], *, in_grid: bool = False
) -> Composed:
    """Compose a configuration and check it: names, keys, values, settings and secrets.

    Args:
        load: lets Hydra compose, from prepared overrides.
        overrides: those of the command, for messages.
        in_grid: whether it is a cell of a grid.

    Raises:
        ConvragError: whatever is wrong with the configuration.
    """
    with explained(plugins.load().registry, overrides):
        config = load()
        command = Command(overrides, {**config.hydra.runtime.choices}, in_grid)
        refuse_secrets(config)
        _refuse_unread_plugins(config)
        check_config(config, command)
    return Composed(config, command)


def _refuse_unread_plugins(config: DictConfig) -> None:
    """Raise ConfigError for a plugin file that was not loaded: a preset of a preset names it."""
    read = plugins.load().files
    files = OmegaConf.select(config, "plugins")
    for name, path in zip(files or (), _list_files(files, Path(), ""), strict=True):
        if not any(path == other or _ends_with(other, name) for other in read):
            raise ConfigError(
                f"plugins: {name} is not loaded: it stands in a file that the command does not "
                "name. Name it in the command, plugins=[...], in the file of --config-name, or in "
                "a preset that the command chooses"
            )


def _ends_with(path: Path, name: str) -> bool:
    """Whether a name, which may be relative to another folder, is the end of a path."""
    parts = [part for part in Path(name).parts if part not in (".", "..")]
    return list(path.parts[-len(parts) :]) == parts


def leave_out_hydra(config: DictConfig) -> DictConfig:
    """Return a configuration without Hydra's own part."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def use_folder(folder: str | None, config_name: str | None) -> None:
    """Look for configurations in a folder (--config-dir), and start from one of them
    (--config-name), if given.

    Raises ConfigError where there is no such folder.
    """
    path = Path(folder).absolute() if folder else None
    if path and not path.is_dir():
        raise ConfigError(f"--config-dir {folder}: there is no such folder")
    user_folder.path, user_folder.config_name = path, config_name or ""


def find_plugin_files(overrides: Iterable[str]) -> list[Path]:
    """Return the plugin files that a command names, which are loaded before Hydra composes.

    Those of the file of --config-name and of presets (`+seed=mine`) are relative to it, those of
    overrides (`plugins=[my_plugin.py]`) to the current folder. Raises ConfigError for a value that
    is not a list.
    """
    overrides = list(overrides)
    found: list[Path] = []
    file = user_folder.find_config_file()
    if file:
        names = OmegaConf.select(read_yaml(file), "plugins")
        found += _list_files(names, file.parent, f"{file}: ")
    for preset in list_chosen_files(overrides):
        if isinstance(preset, Path) and preset != file and _is_preset(preset):
            names = OmegaConf.select(read_yaml(preset), "plugins")
            found += _list_files(names, preset.parent, f"{preset}: ")
    for override in overrides:
        key, equals, value = override.lstrip("+").partition("=")
        if key == "plugins" and equals:
            items = [name.strip().strip("'\"") for name in value.strip("[]").split(",")]
            names = list(filter(None, items)) if value.startswith("[") else value
            found += _list_files(names, Path(), "")
    return found


def _is_preset(file: Path) -> bool:
    """Whether a file sets keys of the whole configuration, not those of its own folder."""
    head = file.read_text(encoding="utf-8", errors="replace")[:500]
    return bool(_GLOBAL.search(head))


def _list_files(names: Any, folder: Path, where: str) -> list[Path]:
    """Return the files of the setting `plugins`. Raises ConfigError where it is not a list."""
    is_list = isinstance(names, list | ListConfig | None)
    if not is_list or not all(isinstance(name, str) for name in names or ()):
        raise ConfigError(
            f"{where}plugins={names}: this is a list of Python files, as in plugins=[my_plugin.py]"
        )
    return [(folder / name).absolute() for name in names or ()]
