"""`retriever=dense`: passages are found by the similarity of their vectors to the query's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import uuid4

from convrag import ConfigError, Dataset, Embedder, Hit, MissingExtra, Query, Retriever, Store
from convrag.registry.parameters import operational
from convrag.sdk.queries import choose_queries
from convrag.store.fingerprint import digest
from convrag.store.source import hash_modules
from convrag_retrieval.corpora import DomainCache, PositionedCorpus, describe_index, find_empty_domains, make_series

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convrag_retrieval.hnsw import HNSWGraph
    from convrag_retrieval.vectors import Vectors

LARGE = 200_000
"""Passages above which `approximate=auto` uses a graph; up to there an exact search takes some 50 ms."""

_CODE = "known_texts", "row_journal", "vector_builder", "vectors"
"""The modules of this package that decide what an index holds."""


class DenseRetriever(Retriever):
    """Search by meaning: the passages whose vectors are closest to the query's, with any embedder.

    A passage counts with its title and text, as far as the embedder reads; its score is the cosine. Several queries
    become one: the sum of weight times vector, brought back to unit length. Each text is embedded once, which takes
    minutes for thousands of passages on a CPU; where passages have changed, only their new texts are, and a build that
    was interrupted goes on where it stopped. Vectors are kept in the store and memory-mapped, and the search is exact,
    unless `approximate` allows otherwise.

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

    libraries = ("numpy",)

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
        self._domains = DomainCache(self._load)

    def check(self) -> Iterator[str]:
        yield from find_empty_domains(self.dataset)
        if self.approximate == "always" and not _faiss_version():
            yield str(MissingExtra("faiss-cpu", "convrag[ann]", "approximate=always"))

    def prepare(self) -> None:
        for domain in self.dataset.domains():
            self._domains.get(domain)

    def index(self) -> list[str]:
        """Build the indexes of all domains, and say of each what was embedded."""
        return [self._domains.get(domain).about for domain in self.dataset.domains()]

    def content_hash(self) -> str:
        return (
            "" if self.approximate == "never" else _faiss_version()
        )  # whether it is installed decides what "auto" finds

    def note(self) -> str:
        if self.approximate == "never":
            return ""
        domains = [domain for domain in self.dataset.domains() if self._domains.get(domain).graph is not None]
        return f"The search is approximate for {', '.join(domains)}." if domains else ""

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        vector = self._combine(queries)
        if vector is None or k < 1:
            return []
        index = self._domains.get(queries[0].domain)
        best = index.search(vector, k)
        passages = index.corpus.get_by_position([position for position, _ in best])
        return [Hit(passage, score) for passage, (_, score) in zip(passages, best, strict=True)]

    def scores(self, queries: Sequence[Query], ids: Sequence[str]) -> dict[str, float]:
        """Score given passages, retrieved or not: id -> cosine; ids that the corpus lacks are left out."""
        import numpy as np

        if (vector := self._combine(queries)) is None:
            return dict.fromkeys(ids, 0.0)
        index = self._domains.get(queries[0].domain)
        positions = index.corpus.positions(ids)
        scores = index.vectors.score(vector, np.array(list(positions.values()), dtype=np.int64))
        return dict(zip(positions, scores.tolist(), strict=True))

    def _combine(self, queries: Sequence[Query]) -> NDArray[np.float64] | None:
        """Combine weighted queries into one unit vector, (d,); None where there is nothing to search for."""
        import numpy as np

        if not (searched := choose_queries(queries, "dense")):
            return None
        rows = self.embedder.embed([query.text for query in searched], query=True).astype(np.float64)
        weights = np.array([[query.weight] for query in searched])
        total: NDArray[np.float64] = (rows * weights).sum(axis=0)
        length = float(np.linalg.norm(total))
        cancelled = length < 1e-6 * float(np.abs(weights).sum())  # the rest is rounding of float32
        return None if cancelled else total / length

    def _load(self, domain: str) -> _DomainIndex:
        from convrag_retrieval.vector_builder import VectorBuilder
        from convrag_retrieval.vectors import Vectors

        corpus = PositionedCorpus(self.dataset, domain, self.store)
        # An embedder that was built by hand has no fingerprint to share an index by: it gets an index of its own.
        code = hash_modules(*(f"convrag_retrieval.{name}" for name in _CODE))
        embedder = self.embedder.fingerprint
        family = digest(["dense", embedder, code]) if embedder else ""
        key = f"{family or uuid4().hex}-{digest(corpus.fingerprint)}"
        series = make_series("dense", self.dataset, domain, self.embedder.series)
        # The journal goes by the series: an interrupted build is resumed although passages have changed meanwhile.
        builder = VectorBuilder(corpus, self.embedder, self.batch_size, self.store, family, series, series or key)
        vectors = Vectors(self.store.folder("indexes", key, builder.build, series=series))
        if builder.counts:
            builder.clean_up()
        graph = self._load_graph(vectors, domain, key, series) if self._approximates(len(corpus)) else None
        return _DomainIndex(corpus, vectors, graph, describe_index(corpus, builder.counts, "embedded"))

    def _approximates(self, passages: int) -> bool:
        return self.approximate == "always" or (
            self.approximate == "auto" and passages > LARGE and bool(_faiss_version())
        )

    def _load_graph(self, vectors: Vectors, domain: str, key: str, series: str) -> HNSWGraph:
        if not _faiss_version():
            raise MissingExtra("faiss-cpu", "convrag[ann]", "approximate=always")
        from convrag_retrieval.hnsw import HNSWGraph

        key = digest(["neighbours", key, _faiss_version(), hash_modules("convrag_retrieval.hnsw")])
        series = digest(["neighbours", series]) if series else ""
        folder = self.store.folder(
            "indexes", key, lambda path: HNSWGraph.build(vectors.rows, domain, path), series=series
        )
        return HNSWGraph(folder)


@dataclass(frozen=True)
class _DomainIndex:
    """The index of one domain; without a graph its search is exact."""

    corpus: PositionedCorpus
    vectors: Vectors
    graph: HNSWGraph | None
    about: str
    """What was built, in a sentence."""

    def search(self, vector: NDArray[np.float64], k: int) -> list[tuple[int, float]]:
        if self.graph is None:
            return self.vectors.search(vector, k)
        return self.vectors.best(vector, self.graph.candidates(vector, k), k)


def _faiss_version() -> str:
    """Name the library of approximate search with its version; empty where it is not installed."""
    try:
        return f"faiss-cpu {version('faiss-cpu')}"
    except PackageNotFoundError:
        return ""
