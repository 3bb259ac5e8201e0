"""Carries out the task of a command in this process: what tests need that are not about processes."""

import logging
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from commands import drop_progress
from convrag.api.errors import ConvragError
from convrag.api.printable import PrintableStream
from convrag.config.compose import compose_command
from convrag.turn.logs import TerminalFormatter
from convrag.turn.wiring import Wiring


def run_task(overrides: Sequence[str], folder: Path, *, stdin: str = "") -> CompletedProcess[str]:
    """Execute a command in a folder, as `run_convrag` does in a process of its own, without Hydra's files and the log.

    Args:
        overrides: of the command; `hydra.run.dir` names the run's folder, else it is "out".
        folder: in which it runs.
        stdin: what is typed.

    Returns:
        Its status (that of an error too), what it printed, and our warnings and error, without progress of long steps.
    """
    out, err = StringIO(), StringIO()
    shown = PrintableStream(err)
    warnings = logging.StreamHandler(shown)
    warnings.setLevel(logging.WARNING)
    warnings.setFormatter(TerminalFormatter())
    warnings.addFilter(lambda record: record.name.startswith(("convrag", "hydra_plugins")))
    logging.getLogger().addHandler(warnings)
    kept = [each for each in overrides if not each.startswith("hydra.")]
    place = next((each.partition("=")[2] for each in overrides if each.startswith("hydra.run.dir=")), "out")
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
    return CompletedProcess(["convrag", *overrides], status, out.getvalue(), drop_progress(err.getvalue()))


def _execute(overrides: Sequence[str], place: Path) -> int:
    config, command = compose_command(*overrides)
    place.mkdir(parents=True, exist_ok=True)  # as Hydra does
    return int(Wiring(config, command).get("task").execute(config, place.absolute()))
