"""Carries out a command, or its task, in this process: what tests need that are not about
processes.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from hydra.core.hydra_config import HydraConfig

from commands import drop_progress
from convrag.api.errors import ConvragError
from convrag.api.printable import PrintableStream
from convrag.cli import main, signals
from convrag.config.compose import compose_command
from convrag.config.yaml_files import user_folder
from convrag.turn.logs import TerminalFormatter
from convrag.turn.wiring import Wiring


def run_task(overrides: Sequence[str], folder: Path, *, stdin: str = "") -> CompletedProcess[str]:
    """Execute a command in a folder, as `run_convrag` does in a process of its own, without Hydra's
    files and the log.

    Args:
        overrides: of the command; `hydra.run.dir` names the run's folder, else it is "out".
        folder: in which it runs.
        stdin: what is typed.

    Returns:
        Its status (that of an error too), what it printed, and our warnings and error, without
        progress of long steps.
    """
    out, err = StringIO(), StringIO()
    shown = PrintableStream(err)
    warnings = logging.StreamHandler(shown)
    warnings.setLevel(logging.WARNING)
    warnings.setFormatter(TerminalFormatter())
    warnings.addFilter(lambda record: record.name.startswith(("convrag", "hydra_plugins")))
    logging.getLogger().addHandler(warnings)
    kept = [each for each in overrides if not each.startswith("hydra.")]
    place = next(
        (each.partition("=")[2] for each in overrides if each.startswith("hydra.run.dir=")), "out"
    )
    try:
        with (
            chdir(folder),
            redirect_stdout(PrintableStream(out)),
            redirect_stderr(shown),
            patch("sys.stdin", StringIO(stdin)),
        ):
            status = _execute(kept, Path(place))
    except ConvragError as error:
        shown.write(f"convrag: {error}\n")
        status = getattr(error, "exit_status", 2)
    finally:
        logging.getLogger().removeHandler(warnings)
    return CompletedProcess(
        ["convrag", *overrides], status, out.getvalue(), drop_progress(err.getvalue())
    )


def _execute(overrides: Sequence[str], place: Path) -> int:
    config, command = compose_command(*overrides)
    place.mkdir(parents=True, exist_ok=True)  # as Hydra does
    return int(Wiring(config, command).get("task").execute(config, place.absolute()))


def run_here(arguments: Sequence[str], folder: Path, *, stdin: str = "") -> CompletedProcess[str]:
    """Run the command itself as `run_convrag` does, in this process: all but the signals, and the
    levels of loggers.
    """
    out, err = StringIO(), StringIO()
    with (
        _left_as_it_is(),
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
        ExitStack() as given,
    ):
        given.enter_context(patch("sys.argv", ["-m", *arguments]))
        given.enter_context(patch("sys.stdin", StringIO(stdin)))
        try:
            main.main()
        except SystemExit as error:
            status = error.code
    return CompletedProcess(
        ["convrag", *arguments], int(status or 0), out.getvalue(), drop_progress(err.getvalue())
    )


def _list_loggers() -> list[logging.Logger]:
    known = logging.root.manager.loggerDict.values()
    return [logging.root, *(each for each in known if isinstance(each, logging.Logger))]


@contextmanager
def _left_as_it_is() -> Iterator[None]:
    """Take back what a command sets in its process, Hydra's singletons, handlers and levels of the
    log included.
    """
    root, last = logging.getLogger(), logging.lastResort
    handlers, shown = root.handlers[:], last and last.formatter
    levels = {each: (each.level, each.disabled, each.propagate) for each in _list_loggers()}
    with (
        patch.dict(os.environ),
        patch.dict(vars(user_folder)),
        patch.dict(vars(HydraConfig.instance())),
        patch.object(signals, "_state", signals._State()),
        patch.object(
            logging, "_handlerList", []
        ),  # Hydra closes all of them: absl's would close pytest's own stream
        patch.object(main, "watch_signals"),
        patch.object(main, "own_logs"),
    ):
        try:
            yield
        finally:
            for handler in {*root.handlers} - {*handlers}:
                handler.close()
            root.handlers[:] = handlers
            for each in _list_loggers():
                level, each.disabled, each.propagate = levels.get(
                    each, (logging.NOTSET, False, True)
                )
                each.setLevel(level)
            if last:
                last.setFormatter(shown)
