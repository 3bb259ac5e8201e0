"""Hydra's private parts: every use of one is in this file, with the reason for it.

Tried with hydra-core 1.3.8 and 1.4.0rc3; tests/config/test_hydra_internals.py shows what breaks
without each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import hydra
from hydra import version
from hydra._internal.callbacks import Callbacks
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

VERSION_BASE = "1.3"
"""The behaviour that we ask Hydra 1.3 for. Hydra 1.4 has no other, and warns where one is asked for."""

_preparing = threading.RLock()


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

    def __reduce__(self) -> tuple[Any, ...]:
        return self._rebuild


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
    hydra.main(**place)(task)()


def register_resolver(name: str, function: Callable[..., Any], *, use_cache: bool = False) -> None:
    """Make `${name:...}` known to OmegaConf; 2.4, which Hydra 1.4 needs, has renamed the method."""
    if _is_1_3():
        OmegaConf.register_new_resolver(name, function, use_cache=use_cache, replace=True)
    else:
        OmegaConf.register_resolver(name, function, use_cache=use_cache, replace=True)


def read_result(job: JobReturn) -> Any:
    """Return what a job returned, or the exception that it raised.

    The public `return_value` writes a line to standard error before it raises the exception.
    """
    return job._return_value if job.status is JobStatus.FAILED else job.return_value


def _is_1_3() -> bool:
    return hydra.__version__.startswith("1.3")
