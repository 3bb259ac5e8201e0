"""A grid of 27 cells beside 27 separate runs on empty stores (-s prints figures).

The LLM is a plugin file that takes 20 ms for each call and writes down that it was asked.
"""

import json
import time
from collections import Counter
from itertools import product
from pathlib import Path

from killing import counting

FACTORS = {
    "rewriter": ("condense", "last_n", "full_history"),
    "clusterer": ("lsa", "kmeans", "agglomerative"),
    "ranker": ("bm25", "size", "embedding"),
}
SHARED = ("history=gold", "limit=2", "tracker=none", "metrics.ranking.measures=[nDCG@5]")


def made(folder: Path) -> Counter[str]:
    """Calls that were made on behalf of each stage, over all runs below a folder."""
    total: Counter[str] = Counter()
    for path in folder.glob("outputs/**/metrics.json"):
        usage = json.loads(path.read_text())["usage"]
        total.update({stage: int(row["calls"]) for stage, row in usage.items()})
    return total


def test_27_cells_beside_27_runs(tmp_path: Path) -> None:
    grid = counting(
        tmp_path / "grid",
        "-m",
        *(f"{name}={','.join(found)}" for name, found in FACTORS.items()),
        *SHARED,
    )
    took = grid.finish()
    assert grid.asked() == grid.stored()  # each distinct call of the LLM once
    runs, alone, start = Counter[str](), 0, time.monotonic()
    for number, choice in enumerate(product(*FACTORS.values())):
        chosen = (f"{name}={option}" for name, option in zip(FACTORS, choice, strict=True))
        single = counting(tmp_path / f"run{number}", *chosen, *SHARED)
        single.finish()
        runs += made(single.folder)
        alone += single.asked()
    apart = time.monotonic() - start
    together = made(grid.folder)
    print(
        f"27 cells in one grid: {took:.0f} s, {grid.asked()} LLM calls, {together.total()} calls of all stages"
    )
    print(
        f"27 runs on empty stores: {apart:.0f} s, {alone} LLM calls, {runs.total()} calls of all stages"
    )
    assert grid.asked() < alone / 3
    assert together.total() < runs.total() / 3
