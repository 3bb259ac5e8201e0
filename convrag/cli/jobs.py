"""The jobs of a command: the one of a plain command, or those that a sweeper starts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import isnan, nan
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from convrag.api.errors import ConvragError, locate_error
from convrag.api.printable import make_streams_printable
from convrag.api.records import EXIT_STATUS
from convrag.cli.launch import remove_if_empty
from convrag.cli.report import read_exit_status, write_error
from convrag.cli.signals import leave_if_told, note_kept
from convrag.concurrency.exits import is_failure
from convrag.config.checks import check_config
from convrag.config.command import Command, list_overrides
from convrag.config.settings import read_metric_names
from convrag.registry import plugins
from convrag.sdk.output.library_logs import own_logs
from convrag.turn.defects import list_stage_packages

log = logging.getLogger(__name__)


class Jobs:
    """Runs the jobs that Hydra starts: the one job of a plain command, or each one of a sweeper's,
    in whatever process.

    `status` is the exit status of a plain command, and of other sweepers than ours where their jobs
    run in this process. Hydra hands nothing back from a job but to sweepers.
    """

    def __init__(self) -> None:
        self.status = 0

    def run(self, config: DictConfig) -> float:
        """Run the chosen task.

        Returns:
            The value of `sweep.metric`, for sweepers; NaN where the run has none.

        Raises:
            Exception: the job failed, and belongs to another sweeper than ours, which decides what
                follows.
        """
        from convrag.sweep.sweep_file import find_sweep_id, read_metric  # --help needs none

        make_streams_printable()  # for a process of a launcher's
        own_logs()
        chosen = HydraConfig.get()
        folder = Path(chosen.runtime.output_dir)
        metrics = read_metric_names(OmegaConf.select(config, "sweep.metric"))
        note_kept(str(OmegaConf.select(config, "store.path")))

        def execute() -> int:
            return _execute_task(config, folder)

        if chosen.mode is not RunMode.MULTIRUN:
            self.status = _run_alone(folder, execute)
            return nan if self.status else read_metric(folder, metrics)
        if find_sweep_id(folder):
            from convrag.sweep.cell import run_cell

            return run_cell(list_overrides(chosen), folder, execute, metrics)
        status, value = _run_for_sweeper(folder, execute, metrics)
        self.status = max(self.status, status)
        return value


def _execute_task(config: DictConfig, folder: Path) -> int:
    """Execute the task of a configuration in a folder, and return its exit status."""
    from convrag.turn.wiring import Wiring  # --help needs none

    if HydraConfig.get().mode is RunMode.MULTIRUN:  # composed by a launcher or another sweeper
        check_config(config, Command.read())
    for package in plugins.load().list_packages():
        logging.getLogger(package).setLevel(logging.INFO)  # plugins write to the run's log, too
    return int(Wiring(config).get("task").execute(config, folder))


def _run_alone(folder: Path, execute: Callable[[], int]) -> int:
    """Return the exit status of a plain command; errors are written, and not raised."""
    try:
        status = execute()
    except (ConvragError, OmegaConfBaseException) as error:
        write_error(error)
        status = read_exit_status(error)
    except BaseException as error:
        if not is_failure(error):
            raise
        from convrag.store.files import describe_disk_error

        leave_if_told()
        message = describe_disk_error(error)
        if message:
            log.error(message, exc_info=True)  # the traceback is for the log alone
            return EXIT_STATUS["failed"]
        place = locate_error(error, list_stage_packages())
        log.critical(
            "this should not have happened: %s; the log is %s",
            f"{type(error).__name__}: {error} ({place})",
            folder / "convrag.log",
            exc_info=True,
        )
        return 1
    remove_if_empty(folder)
    return status


def _run_for_sweeper(
    folder: Path, execute: Callable[[], int], metrics: tuple[str, ...]
) -> tuple[int, float]:
    """Return the exit status, 0 or a partial run's, and the value for another sweeper than ours.

    Raises ConvragError where the run has failed, or was stopped.
    """
    from convrag.sweep.cells import CellsFailed
    from convrag.sweep.sweep_file import METRICS_FILE, read_json, read_metric

    try:
        status = execute()
    except ConvragError as error:
        # Not every subclass can be sent from one process to another.
        raise ConvragError(str(error)) from error
    is_partial = status == EXIT_STATUS["partial"]
    if is_partial and not read_json(folder / METRICS_FILE).get("stopped"):
        log.warning("the sweeper gets the value of a partial run: see %s", folder / "summary.md")
    elif status:
        raise CellsFailed(f"a run ended with status {status}: {folder}")
    value = read_metric(folder, metrics)
    if isnan(value):
        name = metrics[0] if metrics else "nothing"
        log.warning("%s was not measured: the sweeper gets no value of %s", name, folder)
    return status, value
