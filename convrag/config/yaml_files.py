"""The YAML files that Hydra reads, each read so that an error names the file and the line."""

from __future__ import annotations

import io
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import yaml
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.core_plugins.importlib_resources_config_source import ImportlibResourcesConfigSource
from hydra._internal.sources_registry import SourcesRegistry
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from convrag.api.errors import ConfigError
from convrag.config.yaml_places import check_defaults, find_key

_OURS = frozenset({"hydra.conf", "convrag.conf"})
"""The packages of files in which no user or plugin can have made a mistake."""

_PACKAGE = re.compile(r"(?!_global_[^.])[\w.]*")
"""What a file's first line may name; of "_global_x" Hydra cuts off the first part and a character."""


@dataclass(frozen=True)
class YamlFile:
    """A file that was read: its name for Hydra ("seed/mine"), where it lies, and the package that its head names."""

    name: str
    path: str
    text: str
    package: str | None

    @property
    def place(self) -> str:
        """Where its keys stand in the configuration: "" at the top, "rewriter" for those of a rewriter."""
        group = self.name.rpartition("/")[0].replace("/", ".")
        package = group if self.package is None else self.package.replace("_group_", group)
        return "" if package == "_global_" else package.removeprefix("_global_.")


class FilesRead:
    """The files that this process's last composition has read, in their order. Those of convrag are left out."""

    def __init__(self) -> None:
        self._files: dict[str, YamlFile] = {}
        self._lock = threading.Lock()

    def add(self, file: YamlFile) -> None:
        """Note a file."""
        with self._lock:
            self._files.pop(file.path, None)
            self._files[file.path] = file

    def clear(self) -> None:
        """Forget them: another composition begins."""
        with self._lock:
            self._files.clear()

    def __iter__(self) -> Iterator[YamlFile]:
        with self._lock:
            return iter([*self._files.values()])

    def find(self, name: str) -> YamlFile | None:
        """The file that has a name for Hydra ("seed/mine"); None where no file of a user's or a plugin's has."""
        return next((file for file in self if file.name == name.removesuffix(".yaml")), None)


files_read = FilesRead()


class UserFiles(FileConfigSource):
    """Folders, such as that of --config-dir."""

    def is_config(self, config_path: str) -> bool:
        """Whether there is such a file. Called by Hydra. Raises ConfigError where a folder or a dead link is there."""
        path = Path(self.path, self._normalize_file_name(config_path))
        if not path.is_file() and os.path.lexists(path) and not config_path.endswith(".yaml"):  # it lists with suffixes
            raise ConfigError(f"{path}: this is no file that can be read, but a folder, a link to nothing or the like")
        return super().is_config(config_path)

    def load_config(self, config_path: str) -> ConfigResult:
        """Read a file. Called by Hydra. Raises ConfigError with file and line."""
        return _load(self, config_path, Path(self.path, self._normalize_file_name(config_path)))


class PackageFiles(ImportlibResourcesConfigSource):
    """Packages, such as convrag.conf and those that plugins name."""

    def load_config(self, config_path: str) -> ConfigResult:
        """Read a file. Called by Hydra. Raises ConfigError with file and line."""
        return _load(self, config_path, resources.files(self.path).joinpath(self._normalize_file_name(config_path)))


# By these names Hydra knows them, and leaves them in place where it registers its own in a launcher's process.
UserFiles.__name__, PackageFiles.__name__ = FileConfigSource.__name__, ImportlibResourcesConfigSource.__name__


def tell_hydra_how_to_read() -> None:
    """Let Hydra read YAML by these sources; its own name no file for bad bytes, and take a list for a configuration."""
    types = SourcesRegistry.instance().types
    types["file"], types["pkg"] = UserFiles, PackageFiles


def read_yaml(file: Traversable) -> tuple[DictConfig, str]:
    """The configuration in a YAML file, and its text.

    A byte order mark is no part of the text.

    Raises:
        ConfigError: it cannot be read, is not UTF-8 or no YAML, or holds something else than keys and values. The
            message begins with file, line and column.
    """
    text = _read_text(file)
    stream = io.StringIO(text)
    stream.name = str(file)
    try:
        config = OmegaConf.load(stream)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{file}{line}: {_describe_problem(error)}") from error
    except yaml.reader.ReaderError as error:
        at = _at(text, error.position)
        raise ConfigError(f"{file}, {at}: this character cannot stand in YAML: {chr(error.character)!r}") from error
    except RecursionError as error:
        raise ConfigError(f"{file}: its values are nested too deeply, or contain themselves") from error
    except OmegaConfBaseException as error:
        where = find_key(text, "", str(error.full_key or ""))
        raise ConfigError(f"{file}{where and ', '}{where}: {str(error).splitlines()[0]}") from error
    except (yaml.YAMLError, OSError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"{file}: this is no configuration ({' '.join(str(error).split())})") from error
    if not isinstance(config, DictConfig) or _is_scalar(config, text):
        raise ConfigError(f"{file}, line 1: a configuration is keys with values (top_k: 5), and this is none")
    return config, text


def _load(source: ConfigSource, name: str, file: Traversable) -> ConfigResult:
    config, text = read_yaml(file)
    try:
        header = source._get_header_dict(text)
        if not _PACKAGE.fullmatch(header["package"] or ""):
            raise ValueError("this is no name")
    except ValueError as error:
        where = f"{file}, line {_header_line(text)}"
        raise ConfigError(f"{where}: this line names a package, as in '# @package _global_' ({error})") from error
    if source.path not in _OURS:
        check_defaults(str(file), text)
        files_read.add(YamlFile(name.removesuffix(".yaml"), str(file), text, header["package"]))
    return ConfigResult(source.provider, source.full_path(), config, header)


def _read_text(file: Traversable) -> str:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: this file cannot be read ({error.strerror})") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        what = f"this is not UTF-8: the byte 0x{raw[error.start]:02x}"
        raise ConfigError(f"{file}, line {line}, column {column}: {what}. Save the file as UTF-8.") from error


def _is_scalar(config: DictConfig, text: str) -> bool:
    """Whether a text is one word: OmegaConf makes a key without a value of it."""
    plain = OmegaConf.to_container(config, resolve=False)
    return isinstance(plain, dict) and [*plain.values()] == [None] and isinstance(yaml.compose(text), yaml.ScalarNode)


def _describe_problem(error: yaml.MarkedYAMLError) -> str:
    context = f"{error.context}, " if error.context else ""
    began = f" (it began in line {error.context_mark.line + 1})" if error.context_mark and error.context else ""
    return " ".join(f"this is no YAML: {context}{error.problem}{began}".split())


def _header_line(text: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), 1) if line.lstrip(" #").startswith("@")), 1)


def _at(text: str, position: int) -> str:
    before = text[:position]
    return f"line {before.count(chr(10)) + 1}, column {position - before.rfind(chr(10))}"
