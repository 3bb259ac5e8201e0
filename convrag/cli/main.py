"""The command: `python -m convrag [group=option ...] [group.parameter=value ...]`."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
from argparse import ArgumentError, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from math import isnan, nan
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from convrag import __version__
from convrag.api.errors import ConfigError, ConvragError, UnknownName, locate_error
from convrag.api.printable import make_streams_printable
from convrag.api.records import EXIT_STATUS
from convrag.api.secrets import redact
from convrag.cli.launch import launch, remove_if_empty
from convrag.cli.signals import finish, leave, leave_if_told, note_kept, watch_signals
from convrag.config.choices import Command, quote_value, translate_overrides
from convrag.config.compose import check_config, find_plugin_files, use_folder
from convrag.config.loader import configure
from convrag.config.messages import HYDRA_ERRORS, explain
from convrag.config.secret_checks import refuse_secrets_in_command
from convrag.config.settings import read_metric_names
from convrag.config.yaml_files import cite
from convrag.registry import plugins
from convrag.sdk.output.library_logs import own_logs
from convrag.turn.defects import list_stage_packages
from convrag.turn.logs import TerminalFormatter

USAGE_ERROR = 2

log = logging.getLogger(__name__)


def main() -> None:
    """Run the command and exit.

    With 0; 3 where part of the work is missing; 2 for a mistake of the user's; 130 when
    interrupted, 143 and 129 by SIGTERM and SIGHUP; 1 for all else.
    """
    make_streams_printable()
    if "--version" in sys.argv[1:]:
        sys.stdout.write(f"convrag {__version__}\n")
        sys.exit(0)
    sys.argv[0] = "convrag"  # usage messages name it
    os.environ["HYDRA_FULL_ERROR"] = (
        "1"  # Hydra then raises, instead of printing and exiting with 1
    )
    if logging.lastResort:  # what writes warnings until Hydra has set up logging
        logging.lastResort.setFormatter(TerminalFormatter())
    own_logs()
    watch_signals()
    jobs = Jobs()
    try:
        try:
            _run_hydra(jobs)
        finally:
            leave_if_told()
    except KeyboardInterrupt:  # a launcher's own, say: there was no signal
        leave(signal.SIGINT)
    except (ConvragError, *HYDRA_ERRORS) as error:
        _say_error(error)
        sys.exit(getattr(error, "exit_status", USAGE_ERROR))
    except OSError as error:  # Hydra makes the folder before our part begins, a sweeper writes into it afterwards
        from convrag.store.files import describe_disk_error

        if error.errno in (errno.ENOSPC, errno.EDQUOT) and (message := describe_disk_error(error)):
            _say(message)
            sys.exit(EXIT_STATUS["failed"])
        _say(
            f"the output folder cannot be used: {error}. Choose another one: hydra.run.dir=... or hydra.sweep.dir=..."
        )
        sys.exit(USAGE_ERROR)
    finally:
        finish()
    sys.exit(jobs.status)


def _run_hydra(jobs: Jobs) -> None:
    command = read_arguments(sys.argv[1:])
    refuse_secrets_in_command(command.overrides)
    use_folder(command.config_dir, command.config_name)
    configure(find_plugin_files(command.overrides), for_help=command.help)
    command.overrides = translate_overrides(
        command.overrides, plugins.load().registry, multirun=command.multirun
    )
    launch(command, jobs.run)


class Jobs:
    """What Hydra runs: the one job of a plain command, or each one that a sweeper makes, in
    whatever process.

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
            Exception: the job failed, and belongs to another sweeper than ours: what follows is for
                that to decide.
        """
        from convrag.sweep.sweep_file import find_sweep_id, read_metric  # --help needs none

        make_streams_printable()  # for a process of a launcher's
        own_logs()
        chosen = HydraConfig.get()
        folder, metrics = (
            Path(chosen.runtime.output_dir),
            read_metric_names(OmegaConf.select(config, "sweep.metric")),
        )
        note_kept(str(OmegaConf.select(config, "store.path")))

        def execute() -> int:
            from convrag.turn.wiring import Wiring  # --help needs none

            check_config(config, Command.read())
            for package in plugins.load().list_packages():
                logging.getLogger(package).setLevel(
                    logging.INFO
                )  # the run's log has what they tell, as what we do
            return int(Wiring(config).get("task").execute(config, folder))

        if chosen.mode is not RunMode.MULTIRUN:
            self.status = _run_alone(folder, execute)
        elif find_sweep_id(folder):
            from convrag.sweep.cell import run_cell

            return run_cell(list(chosen.overrides.task), folder, execute, metrics)
        else:
            status, value = _run_for_sweeper(folder, execute, metrics)
            self.status = max(self.status, status)
            return value
        return nan if self.status else read_metric(folder, metrics)


def _run_alone(folder: Path, execute: Callable[[], int]) -> int:
    try:
        status = execute()
    except (ConvragError, OmegaConfBaseException) as error:
        _say_error(error)
        status = getattr(error, "exit_status", USAGE_ERROR)
    except Exception as error:
        from convrag.store.files import describe_disk_error

        leave_if_told()
        if message := describe_disk_error(error):
            log.error(message, exc_info=True)  # the traceback is for the log alone
            return EXIT_STATUS["failed"]
        what = f"{type(error).__name__}: {error} ({locate_error(error, list_stage_packages())})"
        log.critical(
            "this should not have happened: %s; the log is %s",
            what,
            folder / "convrag.log",
            exc_info=True,
        )
        return 1
    remove_if_empty(folder)
    return status


def _run_for_sweeper(
    folder: Path, execute: Callable[[], int], metrics: tuple[str, ...]
) -> tuple[int, float]:
    """The exit status, 0 or a partial run's, and the value. A run that was stopped has failed for a
    sweeper.
    """
    from convrag.sweep.cells import CellsFailed
    from convrag.sweep.sweep_file import METRICS_FILE, read_json, read_metric

    try:
        status = execute()
    except ConvragError as error:
        raise ConvragError(
            str(error)
        ) from error  # not every subclass can be sent from one process to another
    if status == EXIT_STATUS["partial"] and not read_json(folder / METRICS_FILE).get("stopped"):
        log.warning("the sweeper gets the value of a partial run: see %s", folder / "summary.md")
    elif status:
        raise CellsFailed(f"a run ended with status {status}: {folder}")
    if isnan(value := read_metric(folder, metrics)):
        log.warning(
            "%s was not measured: the sweeper gets no value of %s",
            ", ".join(metrics[:1]) or "nothing",
            folder,
        )
    return status, value


def _message(error: Exception) -> str:
    overrides = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    known = (
        error
        if isinstance(error, ConvragError)
        else explain(error, plugins.load().registry, overrides)
    )
    return str(cite(known, Command.of(overrides)))


def _say_error(error: Exception) -> None:
    """Say what is wrong; a plugin's mistake only where it was not said as a warning when the
    plugins were loaded.
    """
    message = _message(error)
    if not plugins.was_warned(message):
        _say(message)


def _say(message: str) -> None:
    sys.stderr.write(f"convrag: {redact(message)}\n")


_FLAGS = [
    "-h --help",
    "-r --run",
    "-m --multirun",
    "-sc --shell-completion",
    "--hydra-help",
    "--resolve",
    "--version",
]
_WITH_VALUE = ["-cd --config-dir", "-cn --config-name", "-cp --config-path", "-p --package"]
_INFOS = ["all", "config", "defaults", "defaults-tree", "plugins", "searchpath"]


def read_arguments(arguments: Sequence[str]) -> Namespace:
    """The flags of a command, each as an attribute, and its `overrides`, with values quoted where
    need be.

    Raises:
        ConfigError: a flag is unknown or lacks its value.
    """
    parser = _make_parser()
    try:
        known, rest = parser.parse_known_args(arguments)
    except ArgumentError as error:
        raise ConfigError(str(error).removeprefix("argument ")) from error
    if unknown := [argument for argument in rest if argument.startswith("-")]:
        flags = [
            f"--{each.replace('_', '-')}"
            for each in vars(parser.parse_args([]))
            if each != "overrides"
        ]
        raise UnknownName("flag", unknown[0], flags, ["An override has no dashes: rewriter=mmr."])
    given = {*known.overrides, *rest}
    known.overrides = [quote_value(argument) for argument in arguments if argument in given]
    known.flags = [argument for argument in arguments if argument not in given]
    return known


def _make_parser() -> ArgumentParser:
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for names in _FLAGS:
        parser.add_argument(*names.split(), action="store_true")
    for names in _WITH_VALUE:
        parser.add_argument(*names.split())
    parser.add_argument("-c", "--cfg", choices=["job", "hydra", "all"])
    parser.add_argument("-i", "--info", nargs="?", const="all", choices=_INFOS)
    parser.add_argument("overrides", nargs="*")
    return parser
