"""`retriever=dense` over a million vectors: build, memory, size, recall, and a query.

    python benchmarks/speed/embed_sentences.py vectors MTRAG MODEL    # once: real vectors, an hour
    CONVRAG_BENCHMARK_VECTORS=vectors pytest benchmarks/speed/test_scale_dense.py -n 0 -s

The folder has `passages.npy`, real vectors that are taken first, and `queries.npy`. Up to a
million, others are sums of two of the former at random, the second with half of the weight, and of
noise. Without the folder all vectors are noise around centres, and recall is not asserted.
CONVRAG_BENCHMARK_PASSAGES=200000 takes a fifth of the time. Each step is a process of its own,
whose memory is its largest resident size (pages of memory-mapped files included). Limits are of
processor time, which hardly depends on what else the machine does. The vectors are there when
passages are "embedded", so that the time is that of all the rest.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag import Conversation, Dataset, Embedder, Passage, Query

PASSAGES = int(os.environ.get("CONVRAG_BENCHMARK_PASSAGES", "1000000"))
VECTORS = os.environ.get("CONVRAG_BENCHMARK_VECTORS", "")
WIDTH = 384
QUERIES = 100


class Numbered(Dataset):
    """Passages whose text is their number."""

    series = "numbered"

    def __init__(self, size: int) -> None:
        self.size = size

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus_fingerprint(self, domain: str) -> str:
        return f"numbered {self.size}"

    def corpus(self, domain: str) -> Iterator[Passage]:
        return (Passage(f"p{number}", str(number)) for number in range(self.size))


class Prepared(Embedder):
    """Vectors from files, by the number that a text is."""

    fingerprint = series = "prepared"

    def __init__(self, folder: Path) -> None:
        self.rows = np.load(folder / "rows.npy", mmap_mode="r")
        self.queries = np.load(folder / "queries.npy")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        numbers = [int(text) for text in texts]
        return np.array((self.queries if query else self.rows)[numbers])


def make_vectors(folder: Path, size: int) -> None:
    """Write rows.npy and queries.npy."""
    random = np.random.default_rng(3)
    if VECTORS:
        real, queries = (
            np.load(Path(VECTORS, "passages.npy")),
            np.load(Path(VECTORS, "queries.npy")),
        )
        real = random.permutation(real)[:size]
    else:
        centres = random.normal(size=(5000, WIDTH))
        queries = unit(centres[:1000] + random.normal(size=(1000, WIDTH)))
        real = unit(
            centres[random.integers(0, 5000, size // 5)] + random.normal(size=(size // 5, WIDTH))
        )
    rows = np.lib.format.open_memmap(
        folder / "rows.npy", mode="w+", dtype=np.float32, shape=(size, WIDTH)
    )
    rows[: len(real)] = real
    for start in range(len(real), size, 10_000):
        count = min(10_000, size - start)
        one, other = (real[random.integers(0, len(real), count)] for _ in range(2))
        rows[start : start + count] = unit(
            one + 0.5 * other + 0.01 * random.normal(size=(count, WIDTH))
        )
    np.save(folder / "queries.npy", random.permutation(queries)[: 2 * QUERIES].astype(np.float32))
    print(f"{len(real):,} {'real' if VECTORS else 'made'} vectors, {size - len(real):,} mixed ones")


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def run_step(folder: Path, step: str, passages: int, **parameters: str) -> dict[str, Any]:
    """Run a step in a process of its own; print and return its figures.

    Times are of clock and processor.
    """
    arguments = [sys.executable, __file__, str(folder), step, str(passages), json.dumps(parameters)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0
    measured: dict[str, Any] = json.loads(said) | {"MiB": round(usage.ru_maxrss / 1024)}
    print(f"{step} {parameters or ''}, {passages:,} passages: {measured}", flush=True)
    return measured


@pytest.mark.parametrize("quantize", ["none", "float16", "int8"])
def test_a_million_vectors(quantize: str, tmp_path: Path) -> None:
    more = PASSAGES + PASSAGES // 100
    make_vectors(tmp_path, more)
    chosen = {"quantize": quantize}
    built = run_step(tmp_path, "build", PASSAGES, **chosen)
    exact = run_step(tmp_path, "search", PASSAGES, **chosen)
    assert exact["recall"] > (0.9 if quantize == "int8" else 0.99)
    grown = run_step(tmp_path, "build", more, **chosen)
    assert grown["index"][1] < 0.5 * built["index"][1]


def build(retriever: Any, folder: Path) -> dict[str, Any]:
    from convrag_retrieval.corpora import PositionedCorpus

    PositionedCorpus(retriever.dataset, "default", retriever.store)
    start = time.perf_counter(), time.process_time()
    retriever.prepare()
    took = round(time.perf_counter() - start[0], 2), round(time.process_time() - start[1], 2)
    size = sum(path.stat().st_size for path in retriever.store.path.glob("indexes/*/*"))
    return {"index": took, "GiB on disk": round(size / 2**30, 2)}


def search(retriever: Any, folder: Path) -> dict[str, Any]:
    start = time.process_time()
    retriever.prepare()
    opened = time.process_time() - start
    shared, took = 0, []
    expected = find_nearest(retriever.embedder, len(retriever._open("default").corpus))
    count = QUERIES // 4
    for number in range(count):
        start = time.thread_time()
        hits = retriever.retrieve([Query(str(number))], 10)
        took.append(1000 * (time.thread_time() - start))
        shared += len({int(hit.passage.text) for hit in hits} & set(expected[number].tolist()))
    warm = took[count // 2 :]
    return {
        "seconds to open": round(opened, 2),
        "recall": round(shared / (10 * len(took)), 4),
        "median ms": round(statistics.median(warm), 2),
        "95 % ms": round(sorted(warm)[int(0.95 * len(warm))], 2),
    }


def find_nearest(embedder: Prepared, size: int) -> Any:
    """Find the ten nearest of all float32 vectors for each query."""
    scores, found = (
        np.zeros((2 * QUERIES, 0), dtype=np.float32),
        np.zeros((2 * QUERIES, 0), dtype=np.int64),
    )
    for start in range(0, size, 50_000):
        block = embedder.rows[start : min(start + 50_000, size)]
        numbers = np.broadcast_to(np.arange(start, start + len(block)), (2 * QUERIES, len(block)))
        scores, found = np.hstack([scores, embedder.queries @ block.T]), np.hstack([found, numbers])
        best = np.argpartition(-scores, 10, axis=1)[:, :10]
        scores, found = np.take_along_axis(scores, best, 1), np.take_along_axis(found, best, 1)
    return found


def run_in_this_process(folder: str, step: str, passages: str, parameters: str) -> None:
    from convrag.store.store import Store
    from convrag_retrieval.dense import DenseRetriever

    if step == "vectors":
        make_vectors(Path(folder), int(passages))
        return
    retriever = DenseRetriever(
        dataset=Numbered(int(passages)),
        embedder=Prepared(Path(folder)),
        store=Store(Path(folder, "store")),
        **json.loads(parameters),
    )
    json.dump({"build": build, "search": search}[step](retriever, Path(folder)), sys.stdout)


if __name__ == "__main__":
    run_in_this_process(*sys.argv[1:])
