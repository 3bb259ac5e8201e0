"""Exact and approximate search of vectors in the process: usearch, faiss, hnswlib and numpy.

    python benchmarks/speed/approximate_search.py --count 100000
    python benchmarks/speed/approximate_search.py --count 1000000 --libraries usearch

Each library runs in a process of its own, with one thread, on the same seeded vectors: unit vectors
near a subspace, as the vectors of texts are (`--latent` dimensions; 0 takes independent numbers,
the hardest case for a graph). It prints a line of JSON for each: the seconds of a build, the
memory of the process after it, the size of the file, the queries a second at a recall@10 of .95 and
.99, the seconds that 1,000 additions take, and what opening the file memory-mapped costs. All
seconds are of the processor, since they hardly depend on what else the machine does. First it times
exact search at growing sizes, which is what a graph must beat; `--exact-only` does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Places = NDArray[np.int64]

WIDTH = 384
FOUND = 10
"""Passages that a query asks for."""

CONNECTIVITY = 16
EFFORT = 128
"""Candidates that are compared when a vector is added."""

EFFORTS = (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Candidates that are compared in a search, rising."""

TARGETS = (0.95, 0.99)
ADDED = 1000


class Library(Protocol):
    """An index of a library."""

    def add(self, rows: Rows, start: int) -> None:
        """Add rows; their places begin at `start`."""

    def search(self, row: Rows, effort: int) -> Sequence[int]:
        """Search for one row: the places of the nearest."""

    def save(self, path: Path) -> None:
        """Write the index to a file."""

    def open_mapped(self, path: Path) -> None:
        """Open the file without reading all of it. Raises NotImplementedError."""


class Usearch:
    """The index of usearch."""

    dtype = "f32"

    def __init__(self, count: int) -> None:
        from usearch.index import Index

        self.index: Any = Index(
            ndim=WIDTH,
            metric="ip",
            dtype=self.dtype,
            connectivity=CONNECTIVITY,
            expansion_add=EFFORT,
        )

    def add(self, rows: Rows, start: int) -> None:
        self.index.add(np.arange(start, start + len(rows)), rows, threads=1)

    def search(self, row: Rows, effort: int) -> Sequence[int]:
        self.index.expansion_search = effort
        found: Sequence[int] = self.index.search(row, FOUND, threads=1).keys.tolist()
        return found

    def save(self, path: Path) -> None:
        self.index.save(str(path))

    def open_mapped(self, path: Path) -> None:
        self.index.view(str(path))


class HalfUsearch(Usearch):
    """The index of usearch with float16, as `retriever.vectors=hnsw` has it."""

    dtype = "f16"


class Faiss:
    """The index of faiss."""

    def __init__(self, count: int) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self.faiss: Any = faiss
        self.index: Any = faiss.IndexHNSWFlat(WIDTH, CONNECTIVITY, faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = EFFORT

    def add(self, rows: Rows, start: int) -> None:
        self.index.add(rows)

    def search(self, row: Rows, effort: int) -> Sequence[int]:
        self.index.hnsw.efSearch = effort
        found: Sequence[int] = self.index.search(row[None], FOUND)[1][0].tolist()
        return found

    def save(self, path: Path) -> None:
        self.faiss.write_index(self.index, str(path))

    def open_mapped(self, path: Path) -> None:
        self.index = self.faiss.read_index(str(path), self.faiss.IO_FLAG_MMAP_IFC)


class Hnswlib:
    """The index of hnswlib."""

    def __init__(self, count: int) -> None:
        import hnswlib

        self.index: Any = hnswlib.Index(space="ip", dim=WIDTH)
        self.index.init_index(
            max_elements=count + ADDED, M=CONNECTIVITY, ef_construction=EFFORT, random_seed=7
        )
        self.index.set_num_threads(1)

    def add(self, rows: Rows, start: int) -> None:
        self.index.add_items(rows, np.arange(start, start + len(rows)), num_threads=1)

    def search(self, row: Rows, effort: int) -> Sequence[int]:
        self.index.set_ef(max(effort, FOUND))
        found: Sequence[int] = self.index.knn_query(row, k=FOUND, num_threads=1)[0][0].tolist()
        return found

    def save(self, path: Path) -> None:
        self.index.save_index(str(path))

    def open_mapped(self, path: Path) -> None:
        raise NotImplementedError("hnswlib reads a file whole")


LIBRARIES: dict[str, Callable[[int], Library]] = {
    "usearch": Usearch,
    "usearch_f16": HalfUsearch,
    "faiss": Faiss,
    "hnswlib": Hnswlib,
}


def make_rows(count: int, latent: int, seed: int) -> Rows:
    """Make unit rows near a subspace of `latent` dimensions; 0 is all of the space."""
    numbers = np.random.default_rng(seed)
    rows = np.empty((count, WIDTH), dtype=np.float32)
    axes = np.random.default_rng(1).standard_normal((latent, WIDTH)).astype(np.float32)
    for start in range(0, count, 10_000):
        some = min(10_000, count - start)
        noise = numbers.standard_normal((some, WIDTH)).astype(np.float32)
        if latent:
            inner = numbers.standard_normal((some, latent)).astype(np.float32)
            noise = inner @ axes + noise
        rows[start : start + some] = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return rows


def search_exactly(rows: Rows, query: Rows) -> Places:
    """Find the nearest rows by comparing all."""
    scores = rows @ query
    best = np.argpartition(scores, -FOUND)[-FOUND:]
    return best[np.argsort(-scores[best])].astype(np.int64)


def measure_library(name: str, count: int, latent: int, queries: int) -> dict[str, Any]:
    """Measure one library, in this process."""
    rows = make_rows(count, latent, 2)
    asked = make_rows(queries, latent, 3)
    nearest = [set(search_exactly(rows, query).tolist()) for query in asked]
    before = read_memory()
    index: Library = LIBRARIES[name](count)
    start = time.process_time()
    index.add(rows, 0)
    result: dict[str, Any] = {"library": name, "build_s": time.process_time() - start}
    result["memory_mb"] = read_memory() - before
    for target in TARGETS:
        result[f"at_{target}"] = find_speed(index, asked, nearest, target)
    start = time.process_time()
    index.add(make_rows(ADDED, latent, 4), count)
    result["add_1000_s"] = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        index.save(path)
        result["file_mb"] = path.stat().st_size / 2**20
        del index
        result["mapped"] = measure_mapped(name, path, asked)
    return result


def find_speed(
    index: Library, asked: Rows, nearest: Sequence[set[int]], target: float
) -> dict[str, float] | None:
    """Find the least effort that reaches a recall, and time it; None where none does."""
    for effort in EFFORTS:
        start = time.process_time()
        found = [index.search(query, effort) for query in asked]
        seconds = time.process_time() - start
        hits = sum(len(right.intersection(got)) for right, got in zip(nearest, found, strict=True))
        recall = hits / (FOUND * len(asked))
        if recall >= target:
            return {"effort": effort, "recall": recall, "queries_s": len(asked) / seconds}
    return None


def measure_mapped(name: str, path: Path, asked: Rows) -> dict[str, float] | str:
    """Open a file memory-mapped in a new index: seconds, and memory before and after queries."""
    index: Library = LIBRARIES[name](1)
    before = read_memory()
    start = time.process_time()
    try:
        index.open_mapped(path)
    except NotImplementedError as error:
        return str(error)
    opened = time.process_time() - start
    memory = read_memory() - before
    start = time.process_time()
    for query in asked:
        index.search(query, 64)
    return {
        "open_s": opened,
        "memory_mb": memory,
        "queries_s_at_64": len(asked) / (time.process_time() - start),
    }


def read_memory() -> float:
    """Read the anonymous memory of this process in MiB; mapped files are not in it."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise OSError("this system does not tell the memory of a process")


def measure_exact(counts: Sequence[int], latent: int, queries: int) -> None:
    """Print the milliseconds of an exact search at growing sizes."""
    for count in counts:
        rows = make_rows(count, latent, 2)
        asked = make_rows(queries, latent, 3)
        start = time.process_time()
        for query in asked:
            search_exactly(rows, query)
        seconds = (time.process_time() - start) / queries
        print(f"exact, {count:,} rows: {seconds * 1000:.2f} ms a query", flush=True)


def main() -> None:
    """Measure the libraries, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--latent", type=int, default=64)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--exact-only", action="store_true")
    parser.add_argument("--one", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measured = measure_library(options.one, options.count, options.latent, options.queries)
        print(json.dumps(measured))
        return
    sizes = [size for size in (1000, 3000, 10_000, 30_000) if size < options.count]
    measure_exact([*sizes, options.count], options.latent, options.queries)
    if options.exact_only:
        return
    shared = [f"--count={options.count}", f"--latent={options.latent}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in options.libraries:
        command = [sys.executable, __file__, *shared, f"--queries={options.queries}", "--one", name]
        subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
