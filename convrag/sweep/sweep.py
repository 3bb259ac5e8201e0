"""One grid: its cells, which of them are done, and what is said when the last one is.

Hydra makes the cells and starts them, in this process or in others. What the processes must know of the grid stands in
its folder: `sweep.json` names the cells, and each cell's own folder says how it ended.
"""

from __future__ import annotations

import json
import logging
import random
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.utils import create_config_search_path
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConvragError, NotReady
from convrag.api.records import Report
from convrag.api.types import Cell, Sweep
from convrag.config.compose import CONFIG_MODULE, settings_of
from convrag.run.observers import Observers
from convrag.run.runner import MANIFEST
from convrag.sdk.progress import within_grid
from convrag.store.fingerprint import digest
from convrag.turn.wiring import Wiring

log = logging.getLogger(__name__)

OPERATIONAL = ("hydra", "store.", "workers=", "tracker", "sweep.")
"""Beginnings of overrides that have no bearing on results, and so none on the ids of sweeps and cells."""


class SweepInProgress:
    """The grid that this process has started, if any."""

    def __init__(self) -> None:
        self.sweep: Sweep | None = None
        self.error: Exception | None = None
        self.failed = False
        self._observers: Observers | None = None
        self._started = 0.0

    def begin(self, config: DictConfig) -> None:
        """Name the cells and tell the observers; what goes wrong is kept in `error`, and no cell must be run then."""
        try:
            folder = Path(str(config.hydra.sweep.dir)).absolute()
            self._started = time.time()
            grid = _grid(config)
            cells = _cells([*_overrides(grid), *config.hydra.overrides.task], folder)
            config = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
            settings = settings_of(config).sweep
            if settings.sample is not None:
                cells = _drawn(cells, settings.sample, settings.seed)
            cells = _named(cells)
            wiring = Wiring(config)
            tracker = wiring.get("tracker")
            wiring.check()
            sweep = Sweep(sweep_id(grid), folder, tuple(cells), wiring.config)
            observers = Observers(tracker)
            if problems := [each for said in observers.collect("convrag_sweep_check", sweep=sweep) for each in said]:
                raise NotReady(problems)
            self.sweep, self._observers = sweep, observers
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder / "sweep.json", {"id": sweep.id, "started": self._started, "cells": _plain(cells)})
            self._observers.notify("convrag_sweep_started", sweep=self.sweep)
        except Exception as error:
            self.error = error

    def end(self, *, interrupted: bool = False) -> None:
        """Gather how the cells ended, report on them, and tell the observers; called again, it does nothing."""
        if self.sweep is None or self._observers is None:
            return
        cells = tuple(_ended(cell, self._started) for cell in self.sweep.cells)
        sweep = replace(self.sweep, cells=cells, interrupted=interrupted)
        observers, self.sweep = self._observers, None
        self.failed = any(cell.state == "failed" for cell in cells)
        if not any(cell.folder.exists() for cell in sweep.cells):
            shutil.rmtree(sweep.folder)  # Hydra refused the command before its first cell
        try:
            reports = [] if interrupted else observers.collect("convrag_sweep_report", sweep=sweep)
            _publish(sweep, reports)
        except Exception as error:
            self.error, reports = error, []
        try:
            observers.notify("convrag_sweep_finished", sweep=sweep, reports=reports)
        except Exception as error:
            self.error = self.error or error


_current = SweepInProgress()


def current() -> SweepInProgress:
    """The grid of this process."""
    return _current


def sweep_id(grid: Mapping[str, Any]) -> str:
    """What stands for the command that this process runs: equal for the same overrides in any order.

    Args:
        grid: what a ready grid (conf/sweep/) brings; a changed one is another grid.
    """
    return cell_id([*_overrides(grid), *(argument for argument in sys.argv[1:] if not argument.startswith("-"))])


def sweep_of(folder: Path) -> str:
    """The id of the grid that the run in this folder is a cell of; empty for a run by itself."""
    described = _read(folder.parent / "sweep.json")
    return str(described["id"]) if folder.name in (cell["id"] for cell in described.get("cells", [])) else ""


def name_of(folder: Path) -> str:
    """What people call the cell in this folder: the overrides in which it differs from others; of other runs, empty."""
    cells = _read(folder.parent / "sweep.json").get("cells", [])
    return next((str(cell["name"]) for cell in cells if cell["id"] == folder.name), "")


def cell_id(overrides: Sequence[str]) -> str:
    """What stands for a cell: a hash of those of its overrides that bear on results."""
    return digest(sorted(each for each in overrides if not each.lstrip("+~").startswith(OPERATIONAL)))[:12]


def run_cell(overrides: Sequence[str], folder: Path, execute: Callable[[], int]) -> int:
    """Run a cell, saying on the terminal how far the grid is; note how it ended, and its traceback where it failed.

    Args:
        overrides: of the cell.
        folder: of the cell.
        execute: runs it; returns an exit status, and may raise.

    Returns:
        0, or 1 where it failed: a cell must not end the others.
    """
    described = _read(folder.parent / "sweep.json")
    ids = [cell["id"] for cell in described.get("cells", [])]
    if folder.name not in ids:
        return 0  # not drawn
    place = ids.index(folder.name)
    _say(f"[{place + 1}/{len(ids)}] {described['cells'][place]['name']}{_time_left(described, folder.parent)}")
    before = _stamp(folder)
    ending = {"state": "ok", "error": ""}
    (folder / "error.txt").unlink(missing_ok=True)
    try:
        with within_grid(place, len(ids), alone=current().sweep is not None):
            status = execute()
        if status:
            ending = {"state": "failed", "error": f"the run ended with status {status}"}
    except Exception as error:
        known = isinstance(error, ConvragError)
        ending = {"state": "failed", "error": str(error) if known else f"{type(error).__name__}: {error}"}
        (folder / "error.txt").write_text(traceback.format_exc(), encoding="utf-8")
        _say(f"this cell failed: {ending['error']}")
    if ending["state"] == "ok" and before and _stamp(folder) == before:
        ending["state"] = "reused"
    _write(folder / "cell.json", {"overrides": list(overrides), "try": described.get("started"), **ending})
    return int(ending["state"] == "failed")


def _cells(arguments: list[str], folder: Path) -> list[Cell]:
    """Every combination, as Hydra's own sweeper makes them."""
    loader = ConfigLoaderImpl(create_config_search_path(f"pkg://{CONFIG_MODULE}"))
    overrides = OverridesParser.create(loader).parse_overrides(arguments)
    (combinations,) = BasicSweeper.split_arguments(overrides, None)
    return [Cell(cell_id(each), tuple(each), folder / cell_id(each)) for each in combinations]


def _grid(config: DictConfig) -> Mapping[str, Any]:
    """What a ready grid (conf/sweep/) brings; nothing where there is none."""
    return config.hydra.sweeper.get("params") or {}


def _overrides(grid: Mapping[str, Any]) -> list[str]:
    """A grid's factors as overrides; those of the command line come after, and win."""
    return [f"{key}={value}" for key, value in grid.items()]


def _named(cells: list[Cell]) -> list[Cell]:
    """The cells with their names; one that is alone is called by all that it overrides."""
    common = set.intersection(*(set(cell.overrides) for cell in cells)) if len(cells) > 1 else set()
    return [
        replace(cell, name=" ".join(each.lstrip("+") for each in cell.overrides if each not in common))
        for cell in cells
    ]


def _drawn(cells: list[Cell], number: int, seed: int) -> list[Cell]:
    """So many cells at random, in their own order."""
    ordered = sorted(cells, key=lambda cell: cell.id)
    chosen = {cell.id for cell in random.Random(seed).sample(ordered, min(number, len(ordered)))}
    return [cell for cell in cells if cell.id in chosen]


def _ended(cell: Cell, started: float) -> Cell:
    ending = _read(cell.folder / "cell.json")
    if ending.get("try") != started:
        return cell  # of an earlier try: in this one its turn did not come
    return replace(cell, state=str(ending["state"]), error=str(ending["error"]))


def _publish(sweep: Sweep, reports: Sequence[Report]) -> None:
    for report in reports:
        for name, text in report.files.items():
            unfinished = sweep.folder / f"{name}.unfinished"
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(sweep.folder / name)
        for line in report.lines:
            _say(line)


def _time_left(described: dict[str, Any], folder: Path) -> str:
    """How long the rest of the grid may take, by the cells that were done since it started."""
    if not (started := described.get("started")):
        return ""
    cells = described["cells"]
    done = sum(_read(folder / cell["id"] / "cell.json").get("try") == started for cell in cells)
    return f" (about {(time.time() - started) / done * (len(cells) - done):.0f} s left)" if done else ""


def _stamp(folder: Path) -> int:
    """Changes whenever a run is written into the folder."""
    path = folder / MANIFEST
    return path.stat().st_mtime_ns if path.exists() else 0


def _plain(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    return [{"id": cell.id, "name": cell.name, "overrides": list(cell.overrides)} for cell in cells]


def _read(path: Path) -> dict[str, Any]:
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return row if isinstance(row, dict) else {}


def _write(path: Path, row: dict[str, Any]) -> None:
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(row, indent=2), encoding="utf-8")
    unfinished.replace(path)


def _say(line: str) -> None:
    sys.stderr.write(f"convrag: {line}\n")
