"""Recall and speed of vector databases and of our own index, with seeded vectors.

    PGVECTOR_URL=postgresql://... python benchmarks/vector_databases.py pgvector --passages 100000

Vectors lie about 1,000 centres, as those of texts do; queries are vectors of passages with noise.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from convrag import Conversation, Dataset, Embedder, Passage, Query, Store
from convrag_retrieval.dense import DenseRetriever
from convrag_vector_databases.pgvector import PgvectorRetriever
from convrag_vector_databases.qdrant import QdrantRetriever

WIDTH, QUERIES, K = 384, 200, 10


class Numbers(Dataset):
    """Passages whose text is their number."""

    def __init__(self, passages: int) -> None:
        self.count = passages

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        return (Passage(str(number), str(number)) for number in range(self.count))


class Seeded(Embedder):
    """Vectors by the number of a passage; queries have noise."""

    fingerprint = series = "seeded"

    def __init__(self) -> None:
        self.centres = np.random.default_rng(0).normal(size=(1000, WIDTH))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        rows = np.array([self._make(int(text), query) for text in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def _make(self, number: int, query: bool) -> Any:
        rng = np.random.default_rng(number)
        row = self.centres[number % 1000] + rng.normal(size=WIDTH)
        return row + np.random.default_rng([number, 1]).normal(size=WIDTH) * 0.5 if query else row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", choices=["pgvector", "qdrant"])
    parser.add_argument("--passages", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dataset, store = Numbers(options.passages), Store(Path(folder))
        stages: dict[str, Any] = {"dataset": dataset, "embedder": Seeded(), "store": store}
        chosen: Any = PgvectorRetriever if options.database == "pgvector" else QdrantRetriever
        retrievers = {"dense": DenseRetriever(**stages)}
        retrievers |= {
            f"{options.database} {way}": chosen(**stages, vectors=way) for way in ("exact", "hnsw")
        }
        exact: list[set[str]] = []
        for name, retriever in retrievers.items():
            start = time.perf_counter()
            retriever.index()
            built = time.perf_counter() - start
            queries = [
                Query(str(number))
                for number in range(0, options.passages, options.passages // QUERIES)
            ]
            start = time.perf_counter()
            found = [
                {hit.passage.id for hit in retriever.retrieve([query], K)} for query in queries
            ]
            rate = len(queries) / (time.perf_counter() - start)
            exact = exact or found
            recall = np.mean(
                [len(one & other) / K for one, other in zip(found, exact, strict=True)]
            )
            told = f"built in {built:6.1f} s, recall@{K} {recall:.3f}, {rate:6.1f} queries a second"
            sys.stdout.write(f"{name:15} {told}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
