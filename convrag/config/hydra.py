"""Hydra's private parts: every use of one is in this file, with the reason for it.

Tried with hydra-core 1.3.8 and 1.4.0rc3; tests/config/test_hydra_internals.py shows what breaks
without each.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hydra
import yaml
from hydra import version
from hydra._internal import utils as hydra_utils
from hydra._internal.callbacks import Callbacks
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.core_plugins.importlib_resources_config_source import (
    ImportlibResourcesConfigSource,
)
from hydra._internal.core_plugins.structured_config_source import (
    StructuredConfigSource as HydraStructuredConfigSource,
)
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.plugins.config_source import ConfigLoadError, ConfigResult
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConfigError
from convrag.store.yaml_text import YamlOutOfBounds, check_yaml

VERSION_BASE = "1.3"
"""The behaviour that we ask Hydra 1.3 for. Hydra 1.4 has no other, and warns when asked."""

_preparing = threading.RLock()


class StructuredConfigSource(HydraStructuredConfigSource):
    """Gives a loader Hydra's own part of the process-wide store, and nothing of a host's.

    Hydra merges a configuration with one of the same name in that store, where a host may have its
    own `llm/claude`. It knows the source that it asks for them by the name of this class.
    """

    def load_config(self, config_path: str) -> ConfigResult:
        """Return a configuration of Hydra's. Raises ConfigLoadError for others, as Hydra wants."""
        if not self.is_config(config_path):
            raise ConfigLoadError(f"{config_path} is not Hydra's")
        return super().load_config(config_path)

    def is_config(self, config_path: str) -> bool:
        """Whether this is a configuration of Hydra's."""
        return _is_hydras(config_path) and super().is_config(config_path)

    def is_group(self, config_path: str) -> bool:
        """Whether this is a group of Hydra's."""
        return _is_hydras(config_path) and super().is_group(config_path)


class BoundedFolder(FileConfigSource):
    """A folder of YAML files, each checked before Hydra writes out its aliases."""

    def load_config(self, config_path: str) -> ConfigResult:
        """Return a configuration. Raises ConfigError for one that stands for too many values."""
        _check_file(Path(self.path, self._normalize_file_name(config_path)))
        return super().load_config(config_path)


class BoundedPackage(ImportlibResourcesConfigSource):
    """A package with YAML files, each checked before Hydra writes out its aliases."""

    def load_config(self, config_path: str) -> ConfigResult:
        """Return a configuration. Raises ConfigError for one that stands for too many values."""
        _check_file(resources.files(self.path).joinpath(self._normalize_file_name(config_path)))
        return super().load_config(config_path)


_BOUNDED = {source.scheme(): source for source in (BoundedFolder, BoundedPackage)}
"""The scheme of Hydra's sources of files ("file", "pkg"), and ours in their place.

Hydra imports the modules of its sources a second time, so its classes are not those imported here.
"""


def _check_file(file: Traversable) -> None:
    """Refuse a file that stands for too many values. Hydra reports one that cannot be read."""
    try:
        check_yaml(file.read_bytes().decode("utf-8"))
    except YamlOutOfBounds as error:
        raise ConfigError(f"{file}: this is no configuration ({error})") from error
    except (OSError, ValueError, yaml.YAMLError):
        return


def _is_hydras(config_path: str) -> bool:
    return config_path.partition("/")[0].removesuffix(".yaml") in (
        "hydra",
        "_dummy_empty_config_",
    )


class OwnLoader(ConfigLoaderImpl):
    """Hydra's loader of configurations, which another process makes again from its arguments.

    Private, because Hydra's public `compose` composes for the one application of a process
    (`GlobalHydra`): a program that uses convrag as a library may be that application.

    Args:
        search_path: where configurations are looked for.
        rebuild: makes the loader again in another process, and its arguments. What the loader has
            read stays here: another process cannot import what a plugin file brought.
    """

    def __init__(
        self,
        search_path: ConfigSearchPath,
        rebuild: tuple[Callable[..., OwnLoader], tuple[Any, ...]],
    ) -> None:
        prepare_process()
        super().__init__(search_path)
        self._rebuild = rebuild
        _replace_sources(self.repository)

    def _parse_overrides_and_create_caching_repo(self, *arguments: Any) -> Any:
        """Called by Hydra, which makes new sources for hydra.searchpath; 1.4 gives more arguments
        than 1.3.
        """
        parsed, repository = super()._parse_overrides_and_create_caching_repo(*arguments)
        _replace_sources(repository)
        return parsed, repository

    def __reduce__(self) -> tuple[Any, ...]:
        return self._rebuild


def _replace_sources(repository: Any) -> None:
    """Bound the files of a loader, and replace its last source, the process-wide store."""
    sources = repository.get_sources()
    for number, source in enumerate(sources):
        bounded = _BOUNDED.get(source.scheme())
        if bounded is not None:
            sources[number] = bounded(source.provider, f"{source.scheme()}://{source.path}")
    sources[-1] = StructuredConfigSource("schema", "structured://")


def prepare_process() -> None:
    """Do once what `hydra.main` does for an application: resolvers, and the version's behaviour.

    `_UNSPECIFIED_` is how Hydra 1.3 says that no application has begun in this process. A host's
    choice is left alone, and Hydra 1.4 knows no such state.
    """
    with _preparing:
        if not OmegaConf.has_resolver("hydra"):
            setup_globals()
        if version.getbase() is version._UNSPECIFIED_:
            version.setbase(VERSION_BASE)


def make_context(loader: ConfigLoader, config: DictConfig) -> HydraContext:
    """Make what a job and a sweeper are given. Only the private `Callbacks` fills its field."""
    return HydraContext(config_loader=loader, callbacks=Callbacks(config))


def run_main(task: TaskFunction, module: str, config_name: str) -> None:
    """Let Hydra carry out the command line by itself, with the configurations of a package."""
    place = {"config_path": f"pkg://{module}", "config_name": config_name}
    if _is_1_3():
        place["version_base"] = VERSION_BASE
    with _accept_lazy_help():
        hydra.main(**place)(task)()


class _LazyHelpParser(argparse.ArgumentParser):
    """Accepts an option whose help is not a text until it is shown.

    Python 3.14 checks the help of each option when it is added, and refuses that of Hydra 1.3's
    --shell-completion.
    """

    def _check_help(self, action: argparse.Action) -> None:
        if isinstance(action.help, str):
            check: Any = getattr(super(), "_check_help", None)  # there since Python 3.14
            if check:
                check(action)


@contextmanager
def _accept_lazy_help() -> Iterator[None]:
    """Let Hydra 1.3 make its parser of command lines on Python 3.14, from our class."""
    utils: Any = hydra_utils
    original = utils.argparse
    if _is_1_3():
        utils.argparse = SimpleNamespace(ArgumentParser=_LazyHelpParser)
    try:
        yield
    finally:
        utils.argparse = original


def register_resolver(name: str, function: Callable[..., Any], *, use_cache: bool = False) -> None:
    """Make `${name:...}` known to OmegaConf; 2.4, which Hydra 1.4 needs, has renamed the method."""
    if _is_1_3():
        OmegaConf.register_new_resolver(name, function, use_cache=use_cache, replace=True)
    else:
        register: Any = OmegaConf.register_resolver
        register(name, function, use_cache=use_cache, replace=True)


def read_result(job: JobReturn) -> Any:
    """Return what a job returned, or the exception that it raised.

    The public `return_value` writes a line to standard error before it raises the exception.
    """
    return job._return_value if job.status is JobStatus.FAILED else job.return_value


def _is_1_3() -> bool:
    return hydra.__version__.startswith("1.3")
