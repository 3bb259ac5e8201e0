"""The command: `python -m convrag [group=option ...] [group.parameter=value ...]`."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from convrag.api.errors import ConvragError
from convrag.cli.help import list_groups_late, register_resolvers
from convrag.config.compose import CONFIG_MODULE, CONFIG_NAME, VERSION_BASE, check_choices, configure
from convrag.config.messages import HYDRA_ERRORS, explain
from convrag.config.named_files import files_in_command
from convrag.config.stage_choices import translate_overrides
from convrag.registry import plugins
from convrag.turn.logs import TerminalFormatter
from convrag.turn.wiring import Wiring

USAGE_ERROR = 2

log = logging.getLogger(__name__)

_worst = 0  # exit status over the jobs of this process: Hydra hands nothing back from them


def main() -> None:
    """Run the command and exit: 0, 2 for a mistake of the user's, 130 when interrupted, 1 for anything else."""
    sys.argv = ["convrag", *map(_quoted, sys.argv[1:])]  # usage messages name the first
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises, instead of printing and exiting with 1
    if logging.lastResort:  # what writes warnings until Hydra has set up logging
        logging.lastResort.setFormatter(TerminalFormatter())
    interrupted = True
    try:
        configure(files_in_command(sys.argv[1:]), for_help=not {"--help", "-h"}.isdisjoint(sys.argv[1:]))
        sys.argv[1:] = translate_overrides(sys.argv[1:], plugins.load().registry, multirun=_is_multirun(sys.argv[1:]))
        register_resolvers()
        list_groups_late()
        hydra.main(f"pkg://{CONFIG_MODULE}", CONFIG_NAME, VERSION_BASE)(_job)()
        interrupted = False
    except KeyboardInterrupt:
        _say("interrupted. The same command goes on from what is remembered.")
        sys.exit(130)
    except (ConvragError, *HYDRA_ERRORS) as error:
        _say(_message(error))
        sys.exit(USAGE_ERROR)
    except OSError as error:  # Hydra makes the folder before our part begins
        _say(f"the output folder cannot be used: {error}. Choose another one: hydra.run.dir=...")
        sys.exit(USAGE_ERROR)
    finally:
        if "convrag.sweep.sweep" in sys.modules:
            _end_of_sweep(interrupted)
    sys.exit(_worst)


def _quoted(argument: str) -> str:
    """Overrides as a value stand in quotes for Hydra; a user need not know."""
    key, _, value = argument.partition("=")
    return f"{key}='{value}'" if key == "sweep.baseline" and "=" in value and value[0] not in "'\"" else argument


def _is_multirun(arguments: list[str]) -> bool:
    return any(argument in ("-m", "--multirun") for argument in arguments)


def _job(config: DictConfig) -> None:
    """One run of the chosen task: all of a single command, or one cell of a grid, which must not end the others."""
    global _worst
    chosen = HydraConfig.get()
    folder = Path(chosen.runtime.output_dir)

    def execute() -> int:
        check_choices(chosen.runtime.choices)
        task = Wiring(config).get("task")
        return int(task.execute(config, folder))

    if chosen.mode is RunMode.MULTIRUN:
        status = _cell(list(chosen.overrides.task), folder, execute)
    else:
        status = _single(folder, execute)
    _worst = max(_worst, status)


def _cell(overrides: list[str], folder: Path, execute: Callable[[], int]) -> int:
    from convrag.sweep.sweep import run_cell

    status = run_cell(overrides, folder, execute)
    _remove_if_empty(folder)
    return status


def _single(folder: Path, execute: Callable[[], int]) -> int:
    try:
        status = execute()
    except (ConvragError, OmegaConfBaseException) as error:
        _say(_message(error))
        status = USAGE_ERROR
    except Exception:
        log.critical("this should not have happened; the log is %s", folder / "convrag.log", exc_info=True)
        return 1
    _remove_if_empty(folder)
    return status


def _end_of_sweep(interrupted: bool) -> None:
    """Finish the grid where Hydra did not come to it, and say what went wrong with it as a whole."""
    from convrag.sweep.sweep import current

    global _worst
    current().end(interrupted=interrupted)
    _worst = max(_worst, int(current().failed))  # a cell may have run in another process
    if (error := current().error) is not None:
        _say(_message(error))
        sys.exit(USAGE_ERROR if isinstance(error, (ConvragError, *HYDRA_ERRORS)) else 1)


def _message(error: Exception) -> str:
    return str(error if isinstance(error, ConvragError) else explain(error, plugins.load().registry))


def _say(message: str) -> None:
    sys.stderr.write(f"convrag: {message}\n")


def _remove_if_empty(folder: Path) -> None:
    """Take away a folder with nothing in it but what Hydra put there before we began, and what it was made in."""
    here, folder = Path.cwd(), folder.resolve()
    if folder == here or not all(entry.name == ".hydra" or _is_empty_log(entry) for entry in folder.iterdir()):
        return
    shutil.rmtree(folder)
    with suppress(OSError):  # the first one that holds something else
        for parent in folder.parents:
            if here in parent.parents:
                parent.rmdir()


def _is_empty_log(entry: Path) -> bool:
    return entry.suffix == ".log" and not entry.stat().st_size
