"""27 cells as plain runs, as a script with a dictionary, and as convrag's grid."""

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

from options import Options
from pages import format_number, make_table
from programs import PEERS, run

PLUGIN = Path(__file__).parent / "counting_llm.py"
FACTORS = {
    "rewriter": ("condense", "last_n", "full_history"),
    "clusterer": ("lsa", "kmeans", "agglomerative"),
    "ranker": ("bm25", "size", "embedding"),
}
SHARED = ["history=gold", "limit=2", "tracker=none", "metrics.ranking.measures=[nDCG@5]"]
RUNS, SCRIPT, GRID = "27 plain runs", "a script with a dictionary", "convrag's grid"


def measure(options: Options) -> dict[str, Any]:
    """Run the cells in three ways, one after the other, each on empty stores.

    Returns:
        `rows`: the way -> LLM calls, seconds of the processor and of the clock; `cells`: how many.
    """
    factors = {name: found[:2] for name, found in FACTORS.items()} if options.small else FACTORS
    cells = [
        [f"{k}={v}" for k, v in zip(factors, choice, strict=True)]
        for choice in product(*factors.values())
    ]
    convrag = [sys.executable, "-m", "convrag", f"plugins=[{PLUGIN}]", "llm=counting", *SHARED]
    apart = [_run(options.scratch / f"run{n}", [*convrag, *cell]) for n, cell in enumerate(cells)]
    given = json.dumps([[*SHARED, *cell] for cell in cells])
    script = [sys.executable, str(PEERS / "grid_script.py"), str(PLUGIN), given]
    grid = [*convrag, "-m", *(f"{name}={','.join(found)}" for name, found in factors.items())]
    rows = {
        RUNS: {key: round(sum(each[key] for each in apart), 1) for key in apart[0]},
        SCRIPT: _run(options.scratch / "script", script),
        GRID: _run(options.scratch / "grid", grid),
    }
    return {"rows": rows, "cells": len(cells)}


def _run(folder: Path, command: list[str]) -> dict[str, float]:
    folder.mkdir()
    (folder / "asked.txt").touch()
    took = run(command, folder)
    asked = len((folder / "asked.txt").read_text(encoding="utf-8").splitlines())
    return {"llm_calls": asked, "cpu_s": took["cpu_s"], "wall_s": took["wall_s"]}


def format_result(measured: dict[str, Any]) -> str:
    """One table; the seconds are multiples of the grid's, too."""
    own = measured["rows"][GRID]
    cells = [
        [
            name.replace("27", str(measured["cells"])),
            f"{row['llm_calls']:.0f}",
            format_number(row["cpu_s"]),
            format_number(row["cpu_s"] / own["cpu_s"]),
            format_number(row["wall_s"]),
        ]
        for name, row in measured["rows"].items()
    ]
    return make_table(["", "LLM calls", "processor, s", "of the grid's", "clock, s"], cells)
