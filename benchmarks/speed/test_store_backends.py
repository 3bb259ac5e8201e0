"""The cost of the store in SQLite and in PostgreSQL: puts, reads, and locked computations.

The rounds of both take turns in one process, so that their ratio holds on a busy machine, too. Run
with -s.
"""

# ruff: noqa: F811 - the figures are what benchmarks are for; a fixture's name is an argument

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from convrag.registry.plugins import open_database
from convrag.store.store import Store
from postgres_server import postgres  # noqa: F401 - a fixture

ROUNDS, VALUES, SIZE = 5, 1000, 2000


def time_each(work: Callable[[str], object], keys: list[str], threads: int) -> float:
    """Milliseconds a call."""
    with ThreadPoolExecutor(threads) as pool:
        start = time.perf_counter()
        for _ in pool.map(work, keys):
            pass
        return 1000 * (time.perf_counter() - start) / len(keys)


def make_work(store: Store) -> dict[str, Callable[[str], object]]:
    value = b"x" * SIZE

    def compute(key: str) -> None:
        """The work of a cached call beside its computation."""
        store.get([f"c{key}"])
        with store.lock([f"c{key}"]):
            store.get([f"c{key}"])
            store.put("test", {f"c{key}": value}, 1.0)

    return {
        "put": lambda key: store.put("test", {key: value}, 1.0),
        "get": lambda key: store.get([key]),
        "compute": compute,
    }


@pytest.mark.parametrize("threads", [1, 64])
def test_values(threads: int, postgres: Any, tmp_path: Path) -> None:
    stores = {
        "sqlite": Store(tmp_path),
        "postgresql": Store(tmp_path, postgres.make_database(), open_database),
    }
    works = {name: make_work(store) for name, store in stores.items()}
    times: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS):
        keys = [f"{number}-{each}" for each in range(VALUES)]
        for step in ("put", "get", "compute"):
            for name, work in works.items():
                times.setdefault((step, name), []).append(time_each(work[step], keys, threads))
    print()
    for step in ("put", "get", "compute"):
        file, server = (statistics.median(times[step, name]) for name in stores)
        print(
            f"{threads} threads, {step}: SQLite {file:.3f} ms, PostgreSQL {server:.3f} ms, {server / file:.1f} times"
        )
        assert server < 20
