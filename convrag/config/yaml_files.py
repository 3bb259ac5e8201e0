"""The YAML files of users and of plugins: errors that they cause name the file, and the line."""

import re
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

import yaml
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from convrag.api.errors import ConfigError, ConvragError, UnknownName
from convrag.config.command import Command
from convrag.registry import plugins
from convrag.store.yaml_text import parse_config

Error = TypeVar("Error", bound=ConvragError)

_BEGINNING = re.compile(r"([A-Za-z_][\w.]*)(?:[=:]| must be )")


_UNREADABLE = (yaml.YAMLError, OSError, ValueError, TypeError, AttributeError, RecursionError)
"""The errors of reading a file that is not a configuration."""


class UserFolder:
    """The folder with a user's own YAML (--config-dir), and the name of the first file in it
    (--config-name).
    """

    path: Path | None = None
    config_name = ""

    def find_config_file(self) -> Path | None:
        """Return the file of --config-name; None where none is given, or there is none."""
        if self.path is None or not self.config_name:
            return None
        file = self.path / f"{self.config_name.removesuffix('.yaml')}.yaml"
        return file if file.is_file() else None


user_folder = UserFolder()


def read_yaml(file: Traversable) -> DictConfig:
    """Return the configuration in a YAML file.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or holds something other than keys and
            values. The message begins with the file, and the line where that is known.
    """
    try:
        config = parse_config(file.read_bytes().decode("utf-8-sig"))
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
    """Return the error for a text that is not YAML, with file, line and column."""
    mark = error.problem_mark or error.context_mark
    place = file
    if mark:
        place = f"{file or mark.name}, line {mark.line + 1}, column {mark.column + 1}"
    what = ", ".join(filter(None, [error.context, error.problem]))
    return ConfigError(f"{place}: this is no YAML: {' '.join(what.split())}")


def list_chosen_files(overrides: Sequence[str]) -> Iterator[Traversable]:
    """Yield the files of users and plugins that a command names.

    `+seed=mine` is seed/mine.yaml in --config-dir. A folder may also stand in hydra.searchpath, as
    a server's folders of models do.
    """
    names = []
    roots: list[Traversable] = [user_folder.path] if user_folder.path else []
    for override in overrides:
        key, _, value = override.lstrip("+").partition("=")
        items = value.strip("[]").split(",")
        if key == "hydra.searchpath":
            roots += [Path(item.strip("'\" ").removeprefix("file://")) for item in items]
        group = key.partition("@")[0]
        names += [f"{group}/{item}.yaml" for item in items]
    if user_folder.config_name:
        names.append(f"{user_folder.config_name.removesuffix('.yaml')}.yaml")
    roots += map(resources.files, plugins.load().config_packages)
    for root in roots:
        for name in names:
            file = root.joinpath(name)
            if file.is_file():
                yield file


def cite(error: Error, command: Command, key: str = "") -> Error:
    """Put the file and the line that caused an error before its message, where a file did.

    Args:
        error: its message begins with a key ("rewriter.n=x: ..."), or it is about a name that does
            not exist.
        command: keys that it sets itself are in no file.
        key: the key that the error is about, if another than the one in its message.
    """
    match = _BEGINNING.match(str(error))
    if not key and match:
        key = match[1]
    word = key.rpartition(".")[2]
    if isinstance(error, UnknownName) and not key:
        word = error.name
    if not isinstance(error, ConfigError) or not word:
        return error
    values = [override.rpartition("=")[2] for override in command.overrides]
    if command.sets(key) or word in values:
        return error
    for file in list_chosen_files(command.overrides):
        number = _find_line(file, word)
        if number:
            return _begin(error, f"{file}, line {number}", str(file))
    return error


def _find_line(file: Traversable, word: str) -> int:
    """Return the number of the first line with a word; 0 where there is none."""
    place = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if place.search(line):
            return number
    return 0


def cite_only_file(error: Error, command: Command) -> Error:
    """Put the one file that the command names before a message; with several, none is to blame."""
    files = list(map(str, list_chosen_files(command.overrides)))
    return _begin(error, files[0], files[0]) if len(files) == 1 else error


def _begin(error: Error, place: str, file: str) -> Error:
    if file not in str(error):
        error.args = (f"{place}: {error}",)
    return error
