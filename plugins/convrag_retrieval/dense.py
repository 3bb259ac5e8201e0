"""`retriever=dense`: passages by the similarity of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import uuid4

from convrag import ConfigError, Dataset, Embedder, Hit, MissingExtra, Query, Retriever, Store, operational
from convrag.store.fingerprint import digest
from convrag_retrieval.located import LocatedCorpus
from convrag_retrieval.per_domain import PerDomain, missing_passages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convrag_retrieval.neighbours import NeighbourGraph
    from convrag_retrieval.vectors import Vectors

LARGE = 200_000
"""Passages above which `approximate=auto` does without exactness; up to there an exact search takes some 50 ms."""


class DenseRetriever(Retriever):
    """Search by meaning: the passages whose vectors are closest to the query's, with any embedder.

    A passage counts with its title and text, as far as the embedder reads; its score is the cosine. Several queries
    become one: the sum of weight times vector, brought back to unit length. Each domain's vectors are computed once,
    which takes minutes for thousands of passages on a CPU; they are kept in the store and memory-mapped, and the search
    is exact, unless `approximate` allows otherwise.

    Args:
        dataset: whose corpora are searched.
        embedder: makes the vectors of passages and queries.
        store: keeps the indexes.
        approximate: search a graph of neighbours (HNSW) instead of all vectors, and miss some passages for it: "never",
            "always", or "auto", which does so where a domain has over 200,000 passages and faiss-cpu is installed.
        batch_size: passages that are given to the embedder at once.

    Raises:
        ConfigError: batch_size is below 1.
    """

    def __init__(
        self,
        *,
        dataset: Dataset,
        embedder: Embedder,
        store: Store,
        approximate: Literal["never", "auto", "always"] = "never",
        batch_size: Annotated[int, operational] = 512,
    ) -> None:
        if batch_size < 1:
            raise ConfigError(f"retriever=dense: batch_size={batch_size} makes no sense; it must be 1 or more.")
        self.dataset = dataset
        self.embedder = embedder
        self.store = store
        self.approximate = approximate
        self.batch_size = batch_size
        self._open = PerDomain(self._load)

    def check(self) -> Iterator[str]:
        yield from missing_passages(self.dataset)
        if self.approximate == "always" and not _faiss():
            yield str(MissingExtra("faiss-cpu", "convrag[ann]", "approximate=always"))

    def prepare(self) -> None:
        for domain in self.dataset.domains():
            self._open(domain)

    def content_hash(self) -> str:
        return "" if self.approximate == "never" else _faiss()  # without it, "auto" finds something else

    def note(self) -> str:
        if self.approximate == "never":
            return ""
        domains = [domain for domain in self.dataset.domains() if self._open(domain).graph is not None]
        return f"The search is approximate for {', '.join(domains)}." if domains else ""

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        vector = self._vector(queries)
        if vector is None or k < 1:
            return []
        opened = self._open(queries[0].domain)
        best = opened.search(vector, k)
        passages = opened.corpus.at([position for position, _ in best])
        return [Hit(passage, score) for passage, (_, score) in zip(passages, best, strict=True)]

    def scores(self, queries: Sequence[Query], ids: Sequence[str]) -> dict[str, float]:
        """Passage id -> cosine, found or not; ids that the corpus lacks are left out."""
        import numpy as np

        if (vector := self._vector(queries)) is None:
            return dict.fromkeys(ids, 0.0)
        opened = self._open(queries[0].domain)
        positions = opened.corpus.positions(ids)
        scores = opened.vectors.score(vector, np.array(list(positions.values()), dtype=np.int64))
        return dict(zip(positions, scores.tolist(), strict=True))

    def _vector(self, queries: Sequence[Query]) -> NDArray[np.float64] | None:
        """The queries as one unit vector; None where they come to nothing."""
        import numpy as np

        if not (searched := [query for query in queries if query.weight]):
            return None
        rows = self.embedder.embed([query.text for query in searched], query=True).astype(np.float64)
        weights = np.array([[query.weight] for query in searched])
        total: NDArray[np.float64] = (rows * weights).sum(axis=0)
        length = float(np.linalg.norm(total))
        cancelled = length < 1e-6 * float(np.abs(weights).sum())  # what is left is the rounding of float32
        return None if cancelled else total / length

    def _load(self, domain: str) -> _Opened:
        from convrag_retrieval.vectors import Vectors, write

        corpus = LocatedCorpus(self.dataset, domain, self.store)
        # Of an embedder that was built by hand nobody knows what another one computed: it gets an index of its own.
        key = digest(["dense", corpus.fingerprint, self.embedder.fingerprint or uuid4().hex])
        folder = self.store.folder("indexes", key, lambda path: write(corpus, self.embedder, self.batch_size, path))
        vectors = Vectors(folder)
        return _Opened(corpus, vectors, self._link(vectors, domain, key) if self._approximates(len(corpus)) else None)

    def _approximates(self, passages: int) -> bool:
        return self.approximate == "always" or (self.approximate == "auto" and passages > LARGE and bool(_faiss()))

    def _link(self, vectors: Vectors, domain: str, key: str) -> NeighbourGraph:
        if not _faiss():
            raise MissingExtra("faiss-cpu", "convrag[ann]", "approximate=always")
        from convrag_retrieval.neighbours import NeighbourGraph

        key = digest(["neighbours", key, _faiss()])
        return NeighbourGraph(
            self.store.folder("indexes", key, lambda path: NeighbourGraph.build(vectors.rows, domain, path))
        )


@dataclass(frozen=True)
class _Opened:
    """A domain, ready to be searched; without a graph exactly."""

    corpus: LocatedCorpus
    vectors: Vectors
    graph: NeighbourGraph | None

    def search(self, vector: NDArray[np.float64], k: int) -> list[tuple[int, float]]:
        if self.graph is None:
            return self.vectors.search(vector, k)
        return self.vectors.best(vector, self.graph.candidates(vector, k), k)


def _faiss() -> str:
    """The library of approximate search with its version; empty where it is not installed."""
    try:
        return f"faiss-cpu {version('faiss-cpu')}"
    except PackageNotFoundError:
        return ""
