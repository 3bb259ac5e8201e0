"""Cells as tasks of Ray: they are sent, run in its processes, and gathered."""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from convrag import ConvragError
from convrag.sdk.errors import JobLost, MissingExtra

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # else Ray reports on its use to its makers
    "RAY_DEDUP_LOGS": "0",  # else it drops lines of cells that resemble those of others
    "RAY_COLOR_PREFIX": "0",
}
"""Variables that Ray reads when it is imported or started, unless they are set."""


@dataclass(frozen=True)
class Work:
    """What a process needs for any cell of a grid; it is sent to each machine once.

    Args:
        hydra_context: of the command.
        task_function: runs the task of a configuration.
        config: of the command.
        folder: in which the command runs: paths are relative to it, and so the cells run there, too.
        modules: where Python looks for modules.
        state: of Hydra's singletons.
    """

    hydra_context: HydraContext
    task_function: TaskFunction
    config: DictConfig
    folder: str = field(default_factory=os.getcwd)
    modules: Sequence[str] = field(default_factory=lambda: list(sys.path))
    state: Any = field(default_factory=Singleton.get_state)


def launch_tasks(
    work: Work,
    overrides: Sequence[Sequence[str]],
    first: int,
    address: str | None,
    num_cpus: int | None,
    options: Mapping[str, Any],
) -> list[JobReturn]:
    """Run cells as tasks of Ray, in a cluster that is there or one that is started for them and ends with them.

    Args:
        work: what all cells share.
        overrides: of each cell.
        first: the number of the first one.
        address: of the cluster; None to start one.
        num_cpus: of one that is started.
        options: of the tasks.

    Returns:
        How each cell ended, in their order; with JobLost where its process was killed more often than it is run again.

    Raises:
        MissingExtra: Ray is not installed.
    """
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", "convrag[ray]", "hydra/launcher=convrag_ray") from error
    started = not ray.is_initialized()
    if started:
        local = {} if address else {"num_cpus": num_cpus, "include_dashboard": False}
        with _own_signals():
            ray.init(address=address or "local", logging_level="warning", **local)
    try:
        task = ray.remote(run_cell_task).options(**options)
        shared = ray.put(work)
        sent = [task.remote(shared, list(each), first + number) for number, each in enumerate(overrides)]
        return [_gather(ray, reference, each) for reference, each in zip(sent, overrides, strict=True)]
    finally:
        if started:
            ray.shutdown()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep what this process does on SIGTERM, which Ray changes in a main thread."""
    kept = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, kept)


def _gather(ray: Any, reference: Any, overrides: Sequence[str]) -> JobReturn:
    try:
        return JobReturn(overrides=overrides, status=JobStatus.COMPLETED, _return_value=ray.get(reference))
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        failure = cause if isinstance(cause, ConvragError) else JobLost(f"the task of this cell failed: {cause!r}")
    except ray.exceptions.RayError as error:
        failure = JobLost(f"the task of this cell was lost: {error}")
    return JobReturn(overrides=overrides, status=JobStatus.FAILED, _return_value=failure)


def run_cell_task(work: Work, overrides: list[str], number: int) -> Any:
    """Run a cell in a process of Ray's.

    Args:
        work: what all cells share.
        overrides: of the cell.
        number: of the cell.

    Returns:
        What the task function returned.

    Raises:
        Exception: what the task function raised.
    """
    if not Path(work.folder).is_dir():
        raise JobLost(f"this machine has no {work.folder}: the folder of the command must be shared")
    os.chdir(work.folder)
    sys.path[:] = [*work.modules, *(each for each in sys.path if each not in work.modules)]
    setup_globals()
    Singleton.set_state(work.state)
    config = work.hydra_context.config_loader.load_sweep_config(work.config, overrides)
    with open_dict(config):
        config.hydra.job.id = f"{config.hydra.job.name}_{number}"
        config.hydra.job.num = number
    HydraConfig.instance().set_config(config)
    job = run_job(
        hydra_context=work.hydra_context,
        task_function=work.task_function,
        config=config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
    )
    if job.status is JobStatus.FAILED:
        raise job._return_value  # Hydra's own property would print a line before its message
    return job.return_value
