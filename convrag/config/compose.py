"""The bridge to Hydra: registered options become config groups, and overrides become a
configuration.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from hydra.types import RunMode
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict

from convrag.api.errors import ConfigError
from convrag.config.choices import Command, quote_value, read_running, translate_overrides
from convrag.config.loader import configure as configure, make_loader
from convrag.config.messages import check_choices, check_keys, explained
from convrag.config.secret_checks import refuse_secrets, refuse_secrets_in_command
from convrag.config.settings import Settings
from convrag.config.variants import CONFIG_MODULE as CONFIG_MODULE, variants as variants
from convrag.config.yaml_files import cite, read_yaml, user_folder
from convrag.registry import plugins

CONFIG_NAME = "config"


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
    """The plugin files that a command names, which are loaded before Hydra composes.

    Those of the file of --config-name are relative to it, those of overrides
    (`plugins=[my_plugin.py]`) to the current folder. Raises ConfigError for what is no list.
    """
    file = (
        user_folder.path
        and user_folder.path / f"{user_folder.config_name.removesuffix('.yaml')}.yaml"
    )
    found: list[tuple[Path, Any, str]] = []
    if file and user_folder.config_name and file.is_file():
        found += [(file.parent, OmegaConf.select(read_yaml(file), "plugins"), f"{file}: ")]
    for override in overrides:
        key, equals, value = override.lstrip("+").partition("=")
        if key == "plugins" and equals:
            names = [name.strip().strip("'\"") for name in value.strip("[]").split(",")]
            found += [(Path(), [*filter(None, names)] if value.startswith("[") else value, "")]
    for _, names, where in found:
        if not isinstance(names, list | ListConfig | None) or not all(
            isinstance(name, str) for name in names or ()
        ):
            raise ConfigError(
                f"{where}plugins={names}: this is a list of Python files, as in plugins=[my_plugin.py]"
            )
    return [(folder / name).absolute() for folder, names, _ in found for name in names or ()]


def compose(*overrides: str) -> DictConfig:
    """The configuration that the command would run with these overrides ("rewriter=dhrag",
    "top_k=20").

    Raises ConfigError for what cannot be chosen or set. Callable from any thread.
    """
    return compose_command(*overrides)[0]


def compose_command(*overrides: str) -> tuple[DictConfig, Command]:
    """Like `compose`, with what messages need to speak of the choices as they were typed."""
    return _compose(_prepare(overrides), CONFIG_NAME, ())


def compose_with(*overrides: str) -> tuple[DictConfig, Command]:
    """The configuration of the command that is being carried out, with more overrides; the later of
    two wins.

    Files are looked for where that command looks for them (--config-dir, --config-name). Outside of
    a command, the same as `compose_command`, which raises what this does.
    """
    hydra = read_running()
    if hydra is None:
        return compose_command(*overrides)
    places = [
        (each.provider, f"{each.schema}://{each.path}") for each in hydra.runtime.config_sources
    ]
    return _compose(
        _prepare([*hydra.overrides.task, *overrides]), hydra.job.config_name or CONFIG_NAME, places
    )


def _prepare(overrides: Sequence[str]) -> tuple[str, ...]:
    """Load the plugin files that overrides name, and return the overrides as Hydra reads them.
    Raises ConfigError.
    """
    refuse_secrets_in_command(overrides)
    overrides = [quote_value(override) for override in overrides]
    configure(find_plugin_files(overrides))
    translated = tuple(translate_overrides(overrides, plugins.load().registry))
    check_choices(translated, plugins.load().registry)
    return translated


def _compose(
    overrides: tuple[str, ...], name: str, places: Sequence[tuple[str, str]]
) -> tuple[DictConfig, Command]:
    """Compose from the configurations at these places; by default, at ours."""
    with explained(plugins.load().registry, overrides):
        loader = make_loader(places)
        config = loader.load_configuration(name, list(overrides), RunMode.RUN, from_shell=False)
        command = Command(overrides, {**config.hydra.runtime.choices})
        refuse_secrets(config)
        with open_dict(config):
            del config["hydra"]
        check_config(config, command)
        return config, command


def check_config(config: DictConfig, command: Command) -> None:
    """Check what Hydra has composed: keys that nothing reads, and names that two distributions
    claim.

    Args:
        config: composed, with or without Hydra's own part.
        command: by which it was.

    Raises:
        PluginError: a chosen name is claimed by two distributions.
        ConfigError: nothing reads a key; the message names the file where a file set it.
    """
    for key, name in command.chosen.items():
        if isinstance(name, str):
            plugins.load().registry.check_name(key.partition("@")[0], name)
    try:
        check_keys(config, plugins.load().registry, command.names)
    except ConfigError as error:
        raise cite(error, command, getattr(error, "key", "")) from None


def settings_of(config: DictConfig) -> Settings:
    """The checked top-level settings of a configuration. Raises ConfigError."""
    return Settings(
        **{each.name: config[each.name] for each in fields(Settings) if each.name in config}
    )
