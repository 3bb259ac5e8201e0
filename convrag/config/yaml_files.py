"""The YAML files of users and of plugins: an error that one of them makes names it, and the line if
that is known.
"""

import re
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from convrag.api.errors import ConfigError, ConvragError, UnknownName
from convrag.config.choices import Command
from convrag.registry import plugins

Error = TypeVar("Error", bound=ConvragError)

_BEGINNING = re.compile(r"([A-Za-z_][\w.]*)(?:[=:]| must be )")


_UNREADABLE = (yaml.YAMLError, OSError, ValueError, TypeError, AttributeError, RecursionError)
"""What reading a file raises that is no configuration."""


class UserFolder:
    """Where the command looks for a user's own YAML, beside packages: --config-dir, and the file of
    --config-name.
    """

    path: Path | None = None
    config_name = ""


user_folder = UserFolder()


def read_yaml(file: Traversable) -> DictConfig:
    """The configuration in a YAML file.

    Raises:
        ConfigError: it cannot be read, is no YAML, or holds something else than keys and values.
            The message begins with the file, and the line where that is known.
    """
    try:
        config = OmegaConf.create(file.read_bytes().decode("utf-8-sig"))
    except yaml.MarkedYAMLError as error:
        raise explain_yaml_error(error, str(file)) from error
    except (*_UNREADABLE, OmegaConfBaseException) as error:
        raise ConfigError(
            f"{file}: this is no configuration ({' '.join(str(error).split())})"
        ) from error
    if not isinstance(config, DictConfig):
        raise ConfigError(
            f"{file}, line 1: a configuration is keys with values (top_k: 5), and this is none"
        )
    return config


def explain_yaml_error(error: yaml.MarkedYAMLError, file: str = "") -> ConfigError:
    """The error for a text that is no YAML, with file, line and column."""
    mark = error.problem_mark or error.context_mark
    place = f"{file or mark.name}, line {mark.line + 1}, column {mark.column + 1}" if mark else file
    what = ", ".join(filter(None, [error.context, error.problem]))
    return ConfigError(f"{place}: this is no YAML: {' '.join(what.split())}")


def list_chosen_files(overrides: Sequence[str]) -> Iterator[Traversable]:
    """The files of users and plugins that a command names: `+seed=mine` is seed/mine.yaml in
    --config-dir.

    A folder may also stand in hydra.searchpath, as a server's folders of models do.
    """
    pairs = [override.lstrip("+").partition("=") for override in overrides]
    searched = [
        value.strip("[]").split(",") for key, _, value in pairs if key == "hydra.searchpath"
    ]
    names = [
        f"{key.partition('@')[0]}/{name}.yaml"
        for key, _, value in pairs
        for name in value.strip("[]").split(",")
    ]
    names += (
        [f"{user_folder.config_name.removesuffix('.yaml')}.yaml"] if user_folder.config_name else []
    )
    roots: list[Traversable] = [user_folder.path] if user_folder.path else []
    roots += [
        Path(place.strip("'\" ").removeprefix("file://")) for places in searched for place in places
    ]
    for root in [*roots, *map(resources.files, plugins.load().config_packages)]:
        yield from (file for name in names if (file := root.joinpath(name)).is_file())


def cite(error: Error, command: Command, key: str = "") -> Error:
    """Put before a message the file and the line that it is about; an error about no chosen file
    stays as it is.

    Args:
        error: its message begins with a key ("rewriter.n=x: ..."), or it is about a name that does
            not exist.
        command: what it sets itself is in no file.
        key: that the error is about, if another than that in its message.
    """
    match = _BEGINNING.match(str(error))
    key = key or (match[1] if match else "")
    word = key.rpartition(".")[2]
    if isinstance(error, UnknownName) and not key:
        word = error.name
    typed = command.sets(key) or any(
        word == override.rpartition("=")[2] for override in command.overrides
    )
    if not isinstance(error, ConfigError) or not word or typed:
        return error
    for file in list_chosen_files(command.overrides):
        lines = file.read_text("utf-8").splitlines()
        place = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
        if number := next(
            (number for number, line in enumerate(lines, 1) if place.search(line)), 0
        ):
            return _begin(error, f"{file}, line {number}", str(file))
    return error


def cite_only_file(error: Error, command: Command) -> Error:
    """Put before a message the one file that the command names; where there are several, none is to
    blame for sure.
    """
    files = list(map(str, list_chosen_files(command.overrides)))
    return _begin(error, files[0], files[0]) if len(files) == 1 else error


def _begin(error: Error, place: str, file: str) -> Error:
    if file not in str(error):
        error.args = (f"{place}: {error}",)
    return error
