"""Deduplication in long conversations: RAGBoost's algorithm (contextpilot) and convrag's."""

import sys
from pathlib import Path
from typing import Any

from environments import list_pinned, make_environment
from options import Options
from pages import format_number, make_table
from programs import run_peer

MANAGER = "`MultiTurnManager.deduplicate_context`"
ROWS = {
    f"{MANAGER}, contextpilot": ("contextpilot",),
    f"{MANAGER}, convrag, which finds equal texts, too": ("convrag",),
    f"{MANAGER}, convrag, `content_hash=False`": ("convrag", "ids"),
}


def measure(options: Options) -> dict[str, Any]:
    """A turn's microseconds, and the process's memory, after 1,000, 10,000 and 100,000 documents.

    Returns:
        `rows`: what is called -> documents -> figures; `versions`.
    """
    pythons = {"contextpilot": make_environment("dedup"), "convrag": Path(sys.executable)}
    rows: dict[str, dict[str, Any]] = {}
    for name, (library, *more) in ROWS.items():
        for seen in (1000, 10_000) if options.small else (1000, 10_000, 100_000):
            found = run_peer(pythons[library], "deduplicating", library, seen, *more)
            rows.setdefault(name, {})[str(seen)] = found
    return {"rows": rows, "versions": {"contextpilot": list_pinned("dedup")["contextpilot"]}}


def format_result(measured: dict[str, Any]) -> str:
    """A row for each library: microseconds by documents, and the memory that the largest one added."""
    sizes = list(next(iter(measured["rows"].values())))
    cells = [
        [
            name,
            *(format_number(by_size[size]["turn_cpu_us"]) for size in sizes),
            format_number(by_size[sizes[-1]]["added_mib"]),
        ]
        for name, by_size in measured["rows"].items()
    ]
    titles = [f"after {int(size):,} documents, us" for size in sizes]
    return make_table(["", *titles, f"memory for {int(sizes[-1]):,}, MiB"], cells)
