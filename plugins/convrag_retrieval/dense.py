"""`retriever=dense`: passages are found by the similarity of their vectors to the query's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import uuid4

from annotated_types import Ge

from convrag import Embedder, Hit, Query, operational
from convrag.sdk.identity import digest, hash_modules
from convrag.sdk.search.queries import choose_queries, combine_vectors
from convrag_retrieval.corpora import CorpusRetriever, DomainIndex, PositionedCorpus, make_series

if TYPE_CHECKING:
    from convrag_retrieval.vectors import Vectors

_CODE = "vector_builder", "vectors"
"""The modules of this package that decide what an index holds."""


@dataclass(kw_only=True, eq=False)
class DenseRetriever(CorpusRetriever):
    """Search by meaning: the passages whose vectors are closest to the query's, with any embedder.

    A passage counts with its title and text, as far as the embedder reads; its score is the cosine.
    Several queries become one: the sum of weight times vector, brought back to unit length. Each
    text is embedded once, which takes minutes for thousands of passages on a CPU; where passages
    have changed, only their new texts are, and a build that was interrupted goes on where it
    stopped. Vectors are kept in the store and memory-mapped. The search is exact, and compares all
    of them; `vectors=hnsw` follows a graph, which takes a few milliseconds at any size and misses a
    passage now and then. `retriever=qdrant` and `retriever=pgvector` do so on a server.

    Args:
        dataset: whose corpora are searched.
        embedder: makes the vectors of passages and queries.
        store: keeps the indexes.
        quantize: keep vectors as "float16" (half of the size, the same ranking but for ties) or
            "int8" (a quarter, a few of the best ten change places); "none" keeps float32. Scores
            are those of what is kept.
        vectors: "exact" or "hnsw" (extra `hnsw`), as in retriever=pgvector and qdrant.
        exact_below: with "hnsw", corpora with fewer passages are searched exactly all the same.
            Default: where a graph saved little time in benchmarks/speed/approximate_search.py.
        m: of the graph: links of a passage.
        ef_construction: of the graph: candidates that are compared when a passage is added.
        ef_search: of the graph: candidates that are compared in a search, but at least twice the
            passages that are asked for. More find more, and take longer.
        graph_threads: threads that build the graph. One makes the same graph each time; 0 takes
            all cores.
        batch_size: passages that are given to the embedder at once, and lost when the process is
            killed.
        filter: the condition on fields that passages must match: "product=kettle and year>=2023"
            (docs/search.md); null takes all passages.
    """

    libraries = ("numpy",)

    embedder: Embedder
    quantize: Literal["none", "float16", "int8"] = "none"
    vectors: Literal["exact", "hnsw"] = "exact"
    exact_below: Annotated[int, Ge(0)] = 10_000
    m: Annotated[int, Ge(2)] = 16
    ef_construction: Annotated[int, Ge(1)] = 128
    ef_search: Annotated[int, Ge(1)] = 256
    graph_threads: Annotated[int, Ge(0), operational] = 1
    batch_size: Annotated[int, Ge(1), operational] = 4096

    def check(self) -> Iterator[str]:
        yield from super().check()
        if self.vectors == "hnsw":
            from convrag_retrieval.vector_graph import find_missing_library

            missing = find_missing_library()
            if missing:
                yield str(missing)

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        vector = combine_vectors(self.embedder, choose_queries(queries, "dense"))
        if vector is None or k < 1:
            return []
        index = self._open(queries[0].domain)
        among = self.filters.find_positions(queries)
        if among is None:
            return index.make_hits(index.rows.search(vector, k))
        from convrag_retrieval.filtered_vectors import search_among

        return index.make_hits(search_among(index.rows, vector, k, among))

    def scores(self, queries: Sequence[Query], ids: Sequence[str]) -> dict[str, float]:
        """Score given passages: id -> cosine; ids that the corpus lacks are left out."""
        import numpy as np

        vector = combine_vectors(self.embedder, choose_queries(queries, "dense"))
        if vector is None:
            return dict.fromkeys(ids, 0.0)
        index = self._open(queries[0].domain)
        positions = index.corpus.positions(ids)
        scores = index.rows.score(vector, np.array(list(positions.values()), dtype=np.int64))
        return dict(zip(positions, scores.tolist(), strict=True))

    def _load(self, domain: str) -> DomainIndex:
        from convrag_retrieval.vector_builder import VectorBuilder

        corpus = PositionedCorpus(self.dataset, domain, self.store)
        code = hash_modules(*(f"convrag_retrieval.{name}" for name in _CODE))
        embedder = self.embedder.fingerprint
        # An embedder that was built by hand has no fingerprint to share an index by: it gets an
        # index of its own.
        kept = list(dict.fromkeys(["none", self.quantize])) if embedder else []
        families = [digest(["dense", embedder, code, quantize]) for quantize in kept]
        key = f"{families[-1] if families else uuid4().hex}-{digest(corpus.fingerprint)}"
        series = make_series("dense", self.dataset, domain, self.embedder.series, self.quantize)
        # Shards go by the series: an interrupted build is resumed although passages have changed
        # meanwhile.
        builder = VectorBuilder(
            corpus,
            self.embedder,
            self.quantize,
            self.batch_size,
            self.store,
            families,
            series,
            series or key,
        )
        folder = self.store.folder("indexes", key, builder.build, series=series)
        builder.clean_up()
        about = builder.counts.describe(corpus, "embedded")
        return DomainIndex(corpus, self._open_vectors(corpus, folder, key), about)

    def _open_vectors(self, corpus: PositionedCorpus, folder: Path, key: str) -> Vectors:
        """Open the vectors of a corpus for the search that was chosen."""
        from convrag_retrieval.vectors import Vectors

        if self.vectors == "exact" or len(corpus) < self.exact_below:
            return Vectors(folder)
        from convrag_retrieval.vector_graph import GraphBuilder, GraphSettings

        settings = GraphSettings(self.m, self.ef_construction, self.ef_search, self.graph_threads)
        kind = [self.quantize, self.m, self.ef_construction]
        series = make_series("graph", self.dataset, corpus.domain, self.embedder.series, *kind)
        builder = GraphBuilder(corpus.domain, folder, self.store, settings, key, series)
        return builder.open()
