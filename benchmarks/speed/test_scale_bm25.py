"""`retriever=bm25` over a million passages: build, memory, opening, a query, more passages.

    pytest benchmarks/speed/test_scale_bm25.py -n 0 -s

CONVRAG_BENCHMARK_PASSAGES=200000 takes a fifth of the time. Each step is a process of its own,
whose memory is its largest resident size (pages of memory-mapped files included). Limits are of
processor time, which hardly depends on what else the machine does; with one thread it is what the
clock shows on an idle one.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PASSAGES = int(os.environ.get("CONVRAG_BENCHMARK_PASSAGES", "1000000"))


def run_step(step: str, store: Path, passages: int) -> dict[str, Any]:
    """Run a step in a process of its own; print and return its figures."""
    process = subprocess.Popen(
        [sys.executable, __file__, step, str(store), str(passages)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0
    measured: dict[str, Any] = json.loads(said) | {"MiB": round(usage.ru_maxrss / 1024)}
    print(f"{step}, {passages:,} passages: {measured}", flush=True)
    return measured


def test_a_million_passages(tmp_path: Path) -> None:
    built = run_step("build", tmp_path, PASSAGES)
    assert built["MiB"] < 5 * 1024
    assert built["copy"][1] + built["index"][1] < 600
    searched = run_step("search", tmp_path, PASSAGES)
    assert searched["open"][1] < 2
    assert searched["median ms"] < 4
    grown = run_step("build", tmp_path, PASSAGES + PASSAGES // 100)
    assert grown["index"][1] < 0.6 * built["index"][1]


class Clock:
    """Seconds of the clock and of the processor since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        return round(time.perf_counter() - self._start[0], 2), round(
            time.process_time() - self._start[1], 2
        )


def build(retriever: Any) -> dict[str, Any]:
    from convrag_retrieval.corpora import PositionedCorpus

    clock = Clock()
    PositionedCorpus(retriever.dataset, "default", retriever.store)
    copied = clock.read()
    clock = Clock()
    retriever.prepare()
    size = sum(path.stat().st_size for path in retriever.store.path.glob("indexes/*/*"))
    return {"copy": copied, "index": clock.read(), "MB on disk": round(size / 1e6)}


def search(retriever: Any) -> dict[str, Any]:
    queries = retriever.dataset.queries(300)
    clock = Clock()
    retriever.prepare()
    opened = clock.read()
    took, plain = [], []
    for query in queries:
        start = time.thread_time()
        hits = retriever.retrieve(query, 10)
        took.append(1000 * (time.thread_time() - start))
        start = time.thread_time()
        best = add_everything(retriever._open("default").rows, query)
        plain.append(1000 * (time.thread_time() - start))
        assert [hit.score for hit in hits] == pytest.approx(best[: len(hits)], rel=1e-5)
    warm = sorted(took[100:])
    return {
        "open": opened,
        "median ms": round(statistics.median(warm), 2),
        "95 % ms": round(warm[int(0.95 * len(warm))], 2),
        "first query's ms": round(took[0], 1),
        "median ms of adding up all words": round(statistics.median(plain[100:]), 2),
    }


def add_everything(index: Any, query: Any) -> list[float]:
    """Score all passages, as bm25s does with numpy, and return the ten best scores."""
    postings = index.postings
    scores = np.zeros(postings._size, dtype=np.float32)
    for word, weight in index._weigh_words([query[0].text], [1.0]).items():
        part = slice(postings._starts[word], postings._starts[word + 1])
        np.add.at(scores, postings._positions[part], postings._weights[part] * np.float32(weight))
    best: list[float] = np.sort(scores[np.argpartition(scores, -10)[-10:]])[::-1].tolist()
    return best


if __name__ == "__main__":
    from convrag.store.store import Store
    from convrag_retrieval.bm25 import BM25Retriever
    from zipf_passages import ZipfPassages

    step, store, passages = sys.argv[1:]
    retriever = BM25Retriever(dataset=ZipfPassages(int(passages)), store=Store(Path(store)))
    json.dump({"build": build, "search": search}[step](retriever), sys.stdout)
