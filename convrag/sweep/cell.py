"""Runs one cell of a grid, reports it, and notes its ending in its folder."""

import logging
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from math import isnan, nan
from pathlib import Path
from typing import Any

from convrag.api.errors import ConvragError, DataError, JobLost
from convrag.api.records import EXIT_STATUS, Cell
from convrag.api.secrets import redact
from convrag.concurrency.exits import is_failure
from convrag.concurrency.locks import hold_folder
from convrag.run.manifest import MANIFEST
from convrag.score.endings import describe_gaps
from convrag.score.summary import read_summary
from convrag.sdk.output.printable import format_duration
from convrag.sdk.output.progress import within_grid
from convrag.store.files import DiskError, describe_disk_error
from convrag.sweep.sweep_file import (
    CELL_FILE,
    METRICS_FILE,
    SWEEP_FILE,
    DamagedSweep,
    read_ending,
    read_json,
    read_scores,
    read_sweep,
    this_process,
    write_json,
)

log = logging.getLogger(__name__)


def run_cell(
    overrides: Sequence[str], folder: Path, execute: Callable[[], int], metrics: Sequence[str] = ()
) -> float:
    """Run a cell, in the process that launched it.

    A cell that fails raises nothing, since it must not end the others. Where a process of an
    earlier try still runs this cell (a job on a cluster outlives the command that sent it), this
    one waits for it.

    Args:
        overrides: the cell's overrides.
        folder: the cell's folder.
        execute: runs the cell; returns an exit status, and may raise.
        metrics: the measures to compare by (`sweep.metric`); with none, the main ones of the run's
            metrics.

    Returns:
        The value of the first of the measures; NaN where the cell failed, or did not measure it.

    Raises:
        DiskError: files cannot be written, for example because the disk is full.
        DamagedSweep: the grid's own file does not list its cells.
    """
    grid = read_sweep(folder.parent)
    try:
        launched = [cell for cell in grid["cells"] if not cell.get("same_as")]
        place = [cell["id"] for cell in launched].index(folder.name)
        number = f"[{place + 1}/{len(launched)}]"
        started = grid["started"]
        endings = [read_json(folder.parent / cell["id"] / CELL_FILE) for cell in launched]
        ended = [each for each in endings if each.get("try") == started]
        left = _estimate_left(ended, len(launched) - len(ended), time.time() - started)
        _report(f"{number} {launched[place]['name']}{left}")
    except (KeyError, ValueError) as error:
        raise DamagedSweep(folder.parent / SWEEP_FILE) from error
    with (
        hold_folder(folder, wait=True),
        within_grid(place, len(launched), alone=grid.get("process") == this_process()),
    ):
        begun = time.monotonic()
        ending = _execute(folder, execute)
        ending["seconds"] = round(time.monotonic() - begun, 3)
        write_json(folder / CELL_FILE, {"overrides": list(overrides), "try": started, **ending})
    if ending["state"] == "failed":
        _report(f"{number} this cell failed: {ending['error']}")
        return nan
    scores = read_scores(folder, metrics) if (folder / METRICS_FILE).exists() else {}
    _report(f"{number} {_describe_scores(scores)} ({_describe_ending(ending)})")
    return next(iter(scores.values()), nan)


def note_lost(cell: Cell, started: float, error: JobLost) -> None:
    """Note the failure of a cell whose process could not do so itself.

    It has no effect where another process has ended the cell.

    Args:
        cell: the cell whose job was lost.
        started: the time when this try began, in seconds since 1970.
        error: the reason.
    """
    if read_ending(cell, started).state:
        return
    reason = redact(str(error))
    row = {"overrides": list(cell.overrides), "try": started, "state": "failed", "error": reason}
    cell.folder.mkdir(parents=True, exist_ok=True)
    write_json(cell.folder / CELL_FILE, row)
    _report(f"{cell.name}: this cell failed: {reason}")


def _describe_ending(ending: Mapping[str, Any]) -> str:
    """Describe how a cell ended: reused, partial, or its duration."""
    if ending["state"] == "reused":
        return "reused"
    if ending["state"] == "partial":
        return f"partial: {ending['error']}"
    return format_duration(ending["seconds"])


def _describe_scores(scores: Mapping[str, float]) -> str:
    """Describe scores: "nDCG@5 0.495, ROUGE-L 0.166", or "done" where nothing is measured."""
    parts = [
        f"{name} was not measured" if isnan(value) else f"{name} {value:.3f}"
        for name, value in scores.items()
    ]
    return ", ".join(parts) or "done"


def _execute(folder: Path, execute: Callable[[], int]) -> dict[str, Any]:
    """Run a cell and describe its ending; the traceback of a failure goes into `error.txt`."""
    before = _read_write_time(folder)
    (folder / "error.txt").unlink(missing_ok=True)
    try:
        status = execute()
    except BaseException as error:
        if not is_failure(error):
            raise
        disk_message = describe_disk_error(error)
        if disk_message:  # the folder cannot note it either
            raise DiskError(disk_message) from error
        (folder / "error.txt").write_text(redact(traceback.format_exc()), encoding="utf-8")
        message = str(error)
        if not isinstance(error, ConvragError):
            message = f"{type(error).__name__}: {error}"
        return {"state": "failed", "error": redact(message)}
    is_written = _read_write_time(folder) != before
    if status:
        state = "partial" if status == EXIT_STATUS["partial"] else "failed"
        gaps = _describe_gaps(folder) if is_written else ""
        return {"state": state, "error": gaps or f"the run ended with status {status}"}
    return {"state": "reused" if before and not is_written else "ok", "error": ""}


def _describe_gaps(folder: Path) -> str:
    """Describe the gaps of the run in a folder; empty where its metrics cannot be read."""
    try:
        return describe_gaps(read_summary(folder / METRICS_FILE)) or "no turn was run"
    except DataError:
        return ""


def _read_write_time(folder: Path) -> int:
    """Read when a run was last written into the folder, in nanoseconds; 0 without a run."""
    path = folder / MANIFEST
    return path.stat().st_mtime_ns if path.exists() else 0


def _estimate_left(ended: Sequence[Mapping[str, Any]], cells: int, elapsed: float) -> str:
    """Estimate the time left from the cells that ran; empty while none has ended.

    Cells that were reused or failed do not count.

    Args:
        ended: the endings of cells so far.
        cells: the number of cells left.
        elapsed: seconds since the grid began.
    """
    ran = [ending for ending in ended if ending.get("state") in ("ok", "partial")]
    seconds = [ending["seconds"] for ending in ran if "seconds" in ending]
    if not seconds:
        return ""
    at_once = max(1.0, sum(seconds) / max(elapsed, 0.001))  # launchers may run several
    left = sum(seconds) / len(seconds) * cells / at_once
    return f" (about {format_duration(left)} left)"


def _report(line: str) -> None:
    """Write a line to the terminal, where Hydra logs warnings only, and to the cell's log."""
    sys.stderr.write(f"convrag: {line}\n")
    log.info(line)
