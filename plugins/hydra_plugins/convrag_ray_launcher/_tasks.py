"""Sends cells to Ray as tasks, runs them in its processes, and collects how they ended."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from textwrap import shorten
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from convrag import ConfigError, ConvragError
from convrag.sdk.errors import JobLost, MissingExtra
from convrag.sdk.tasks.grids import read_result

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # or Ray reports its use to its makers
    "RAY_DEDUP_LOGS": "0",  # or it drops lines of cells that resemble lines of other cells
    "RAY_COLOR_PREFIX": "0",
}
"""Variables that Ray reads when it is imported or started, unless they are set."""

_LONGEST_REASON = 300
"""Characters of a message of Ray's."""

_PATIENCE = 5
"""Seconds within which a cluster must accept a connection. Ray itself tries for many minutes."""


@dataclass(frozen=True)
class Command:
    """What a process needs for any cell of a grid. It is sent to each machine once.

    Args:
        hydra_context: of the command.
        task_function: runs the task of a configuration.
        config: of the command.
        folder: in which the command runs. Paths are relative to it, so the cells run there, too.
        modules: where Python looks for modules.
        singletons: the state of Hydra's singletons.
    """

    hydra_context: HydraContext
    task_function: TaskFunction
    config: DictConfig
    folder: str = field(default_factory=os.getcwd)
    modules: Sequence[str] = field(default_factory=lambda: list(sys.path))
    singletons: Any = field(default_factory=Singleton.get_state)


def check_cluster(address: str | None) -> None:
    """Check that Ray is installed, and that something listens at the address of the cluster.

    Args:
        address: of a running cluster: "auto", "host:port" or "ray://host:port"; None starts one.

    Raises:
        ConfigError: nothing listens there.
        MissingExtra: Ray is not installed.
    """
    if find_spec("ray") is None:
        raise MissingExtra("ray", "convrag[ray]", "hydra/launcher=convrag_ray")
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # Ray finds the address of "auto", or says that there is none
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE):
            pass
    except (OSError, OverflowError) as error:
        raise _make_unreachable(str(address), error) from error


@contextmanager
def connected(address: str | None, num_cpus: int | None) -> Iterator[None]:
    """Connect this process to a cluster, unless it is connected already.

    Args:
        address: of a running cluster; None starts one, which ends with the context.
        num_cpus: the cores of a cluster that is started.

    Raises:
        ConfigError: the cluster cannot be reached.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():
        yield
        return
    with _keep_signals():
        if address:
            try:
                ray.init(address=address, logging_level="warning")
            except (OSError, RuntimeError, ValueError) as error:
                raise _make_unreachable(address, error) from error
        else:
            ray.init(
                address="local",
                num_cpus=num_cpus,
                include_dashboard=False,
                logging_level="warning",
            )
    try:
        yield
    finally:
        ray.shutdown()


def _make_unreachable(address: str, error: Exception) -> ConfigError:
    reason = shorten(str(error), _LONGEST_REASON).rstrip(".")
    return ConfigError(
        f"hydra.launcher.address={address}: no cluster of Ray answers there: {reason}. "
        "`ray start --head` starts one, and prints its address"
    )


@contextmanager
def _keep_signals() -> Iterator[None]:
    """Keep what this process does on SIGTERM, which Ray changes in a main thread."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def run_cells(
    command: Command,
    overrides: Sequence[Sequence[str]],
    first: int,
    options: Mapping[str, Any],
) -> list[JobReturn]:
    """Run cells as tasks of the cluster to which this process is connected.

    Args:
        command: what all cells have in common.
        overrides: of each cell.
        first: the number of the first one.
        options: of the tasks, as Ray names them.

    Returns:
        How each cell ended, in their order: with JobLost where its process was killed more often
        than it is run again.
    """
    import ray

    task = ray.remote(run_cell_task).options(**options)
    shared = ray.put(command)
    sent = []
    for number, cell in enumerate(overrides, first):
        sent.append(task.remote(shared, list(cell), number))
    return [_collect(reference, cell) for reference, cell in zip(sent, overrides, strict=True)]


def _collect(reference: Any, overrides: Sequence[str]) -> JobReturn:
    """Wait for a cell, and return how it ended."""
    import ray

    job = JobReturn(overrides=overrides, status=JobStatus.FAILED)
    try:
        job.return_value = ray.get(reference)
        job.status = JobStatus.COMPLETED
    except ray.exceptions.RayTaskError as error:
        failure = error.cause
        if not isinstance(failure, ConvragError):
            failure = JobLost(f"the task of this cell failed: {failure!r}")
        job.return_value = failure
    except ray.exceptions.RayError as error:
        job.return_value = JobLost(f"the task of this cell was lost: {error}")
    return job


def run_cell_task(command: Command, overrides: list[str], number: int) -> Any:
    """Run a cell in a process of Ray.

    Args:
        command: what all cells have in common.
        overrides: of the cell.
        number: of the cell.

    Returns:
        What the task function returned.

    Raises:
        JobLost: this machine does not have the folder of the command.
        Exception: what the task function raised.
    """
    if not Path(command.folder).is_dir():
        raise JobLost(
            f"this machine has no {command.folder}: the folder of the command must be shared"
        )
    os.chdir(command.folder)
    own_modules = [path for path in sys.path if path not in command.modules]
    sys.path[:] = [*command.modules, *own_modules]
    setup_globals()
    Singleton.set_state(command.singletons)
    loader = command.hydra_context.config_loader
    config = loader.load_sweep_config(command.config, overrides)
    with open_dict(config):
        config.hydra.job.id = f"{config.hydra.job.name}_{number}"
        config.hydra.job.num = number
    HydraConfig.instance().set_config(config)
    job = run_job(
        hydra_context=command.hydra_context,
        task_function=command.task_function,
        config=config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
    )
    result = read_result(job)
    if job.status is JobStatus.FAILED:
        raise result
    return result
