"""One cell of a grid: it is run, the terminal and the log hear of it, and how it ended is noted in
its folder.
"""

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
    """Run a cell, in whatever process it was launched. One that fails must not end the others:
    nothing is raised.

    Where a process of an earlier try still runs this cell (a job on a cluster outlives the command
    that sent it), it is waited for.

    Args:
        overrides: of the cell.
        folder: of the cell.
        execute: runs it; returns an exit status, and may raise.
        metrics: the measures to compare by (`sweep.metric`); with none, those that stand for the
            metrics of the run.

    Returns:
        The value of the first of the measures; NaN where the cell failed, or did not measure it.

    Raises:
        DiskError: files cannot be written: the disk is full, say.
        DamagedSweep: the grid's own file does not say which cells there are.
    """
    grid = read_sweep(folder.parent)
    try:
        launched = [cell for cell in grid["cells"] if not cell.get("same_as")]
        place = [cell["id"] for cell in launched].index(folder.name)
        number, started = f"[{place + 1}/{len(launched)}]", grid["started"]
        endings = [read_json(folder.parent / cell["id"] / CELL_FILE) for cell in launched]
        ended = [each for each in endings if each.get("try") == started]
        left = _estimate_left(ended, len(launched) - len(ended), time.time() - started)
        _tell(f"{number} {launched[place]['name']}{left}")
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
        _tell(f"{number} this cell failed: {ending['error']}")
        return nan
    scores = read_scores(folder, metrics) if (folder / METRICS_FILE).exists() else {}
    how = {"reused": "reused", "partial": f"partial: {ending['error']}"}.get(ending["state"])
    _tell(f"{number} {_describe_scores(scores)} ({how or format_duration(ending['seconds'])})")
    return next(iter(scores.values()), nan)


def note_lost(cell: Cell, started: float, error: JobLost) -> None:
    """Note that a cell has failed whose process could not say so itself; without effect where
    another one has ended it.

    Args:
        cell: whose job was lost.
        started: when this try began, in seconds since 1970.
        error: says how.
    """
    if read_ending(cell, started).state:
        return
    cell.folder.mkdir(parents=True, exist_ok=True)
    write_json(
        cell.folder / CELL_FILE,
        {
            "overrides": list(cell.overrides),
            "try": started,
            "state": "failed",
            "error": redact(str(error)),
        },
    )
    _tell(f"{cell.name}: this cell failed: {redact(str(error))}")


def _describe_scores(scores: Mapping[str, float]) -> str:
    """`nDCG@5 0.495, ROUGE-L 0.166`; "done" for a task that measures nothing."""
    parts = [
        f"{name} was not measured" if isnan(value) else f"{name} {value:.3f}"
        for name, value in scores.items()
    ]
    return ", ".join(parts) or "done"


def _execute(folder: Path, execute: Callable[[], int]) -> dict[str, Any]:
    """Run it, and say how it ended; the traceback of one that failed goes into `error.txt`."""
    before = _written(folder)
    (folder / "error.txt").unlink(missing_ok=True)
    try:
        status = execute()
    except Exception as error:
        if message := describe_disk_error(error):
            raise DiskError(message) from error  # nor could it be noted in the folder
        known = isinstance(error, ConvragError)
        (folder / "error.txt").write_text(redact(traceback.format_exc()), encoding="utf-8")
        return {
            "state": "failed",
            "error": redact(str(error) if known else f"{type(error).__name__}: {error}"),
        }
    written = _written(folder) != before
    if status:
        state = "partial" if status == EXIT_STATUS["partial"] else "failed"
        gaps = _describe_gaps(folder) if written else ""
        return {"state": state, "error": gaps or f"the run ended with status {status}"}
    return {"state": "reused" if before and not written else "ok", "error": ""}


def _describe_gaps(folder: Path) -> str:
    """What the run in the folder lacks, in words; empty where its metrics cannot be read."""
    try:
        return describe_gaps(read_summary(folder / METRICS_FILE)) or "no turn was run"
    except DataError:
        return ""


def _written(folder: Path) -> int:
    """When a run was last written into the folder, in nanoseconds; 0 where there is none."""
    path = folder / MANIFEST
    return path.stat().st_mtime_ns if path.exists() else 0


def _estimate_left(ended: Sequence[Mapping[str, Any]], cells: int, elapsed: float) -> str:
    """How long so many more cells may take if they take as long as those that ran; empty while none
    has ended.

    One that was reused or failed says nothing of others.
    """
    seconds = [
        each["seconds"]
        for each in ended
        if each.get("state") in ("ok", "partial") and "seconds" in each
    ]
    if not seconds:
        return ""
    at_once = max(1.0, sum(seconds) / max(elapsed, 0.001))  # launchers may run several
    return f" (about {format_duration(sum(seconds) / len(seconds) * cells / at_once)} left)"


def _tell(line: str) -> None:
    """Say it on the terminal, where Hydra's logging shows warnings only, and in the log of the
    cell.
    """
    sys.stderr.write(f"convrag: {line}\n")
    log.info(line)
