"""Ways to search an index (lexical and dense here; sparse.py has a third), and passages as its
documents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple
from uuid import uuid4

from convrag import Embedder, Passage, Query
from convrag.sdk.search.queries import combine_vectors, embed_uncached
from convrag_elasticsearch.on_elasticsearch import Body, Elasticsearch, VectorIndexType

if TYPE_CHECKING:
    from convrag_elasticsearch.cluster import Cluster


class WeightedSearch(NamedTuple):
    """A search, and the weight of its ranking where several are fused."""

    body: Body
    weight: float = 1.0


class Subquery(ABC):
    """One way to search: what it indexes of passages, and how it searches that."""

    searches_by: ClassVar[Literal["lexical", "dense"]] = "dense"
    """Whether it searches by words or by vectors, and so which queries it takes
    (`convrag.sdk.search.queries`).
    """

    fuses_queries = False
    """Whether several queries become several searches whose rankings are fused."""

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """Return the settings that decide what is indexed, as plain data. Its hash is part of the
        index's name.
        """

    @abstractmethod
    def mapping_properties(self) -> dict[str, Any]:
        """Return its fields of the index's mapping."""

    def index_settings(self) -> dict[str, Any]:
        """Return the settings that the index needs for it."""
        return {}

    def ingest_processors(self) -> list[dict[str, Any]]:
        """Return the processors of the ingest pipeline that make its fields on the cluster."""
        return []

    def build_fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        """Build its fields of each passage's document that are made on this machine."""
        return [{} for _ in passages]

    @abstractmethod
    def build_searches(self, queries: Sequence[Query], size: int) -> list[WeightedSearch]:
        """Build the searches for the queries of one rewrite: one, or several whose rankings are
        fused.

        Args:
            queries: all with text and a positive weight.
            size: hits that each search shall find.

        Returns:
            The searches; none where nothing can be found.
        """

    def convert_score(self, score: float) -> float:
        """Convert the cluster's score to this subquery's own scale."""
        return score

    def find_local_problems(self) -> Iterator[str]:
        """Yield what is missing on this machine, for a retriever's `check`."""
        yield from ()

    def find_cluster_problems(self, cluster: Cluster) -> list[str]:
        """Return what is missing on the cluster for searching."""
        return []

    def set_up_cluster(self, cluster: Cluster) -> list[str]:
        """Make what the cluster must have before indexing; return what is still missing then."""
        return self.find_cluster_problems(cluster)

    def note(self) -> str:
        """Return a sentence for the run's summary, or nothing."""
        return ""


CONTENT = "content"
"""The field with title and text, which is searched."""

SOURCE_FIELDS = ["id", CONTENT, "title", "url", "metadata", "text_start"]
"""The fields that a search returns; a passage is built from them."""

VECTOR_FIELDS = ["vector", "tokens"]
"""The fields that are searched and never returned; `_source` excludes them."""

_MAX_ID_BYTES = 512


def build_document(passage: Passage) -> dict[str, Any]:
    """Build the document of a passage. Its text is kept once, as a part of the content."""
    fields = {
        "id": passage.id,
        CONTENT: passage.content,
        "title": passage.title,
        "url": passage.url,
        "text_start": len(passage.content) - len(passage.text),
    }
    return fields | ({"metadata": dict(passage.metadata)} if passage.metadata else {})


def build_passage(source: Mapping[str, Any]) -> Passage:
    """Build the passage that a document was built from."""
    return Passage(
        id=source["id"],
        text=source[CONTENT][source["text_start"] :],
        title=source["title"],
        url=source["url"],
        metadata=source.get("metadata", {}),
    )


def build_document_id(passage_id: str) -> str:
    """Build a document's id: its passage's id, or a hash where that is longer than Elasticsearch
    allows.
    """
    data = passage_id.encode()
    return (
        passage_id
        if len(data) <= _MAX_ID_BYTES
        else f"blake2b-{blake2b(data, digest_size=32).hexdigest()}"
    )


def base_mapping_properties() -> dict[str, Any]:
    """Return the fields of the mapping that every index has."""
    unsearched = {"type": "keyword", "index": False, "doc_values": False}
    return {
        "id": {"type": "keyword"},  # breaks ties between equal scores
        CONTENT: {"type": "text", "index": False},
        "title": unsearched,
        "url": unsearched,
        "text_start": {"type": "integer", "index": False, "doc_values": False},
        "metadata": {"type": "object", "enabled": False},
    }


_SIMILARITY = "passages"


class LexicalSubquery(Subquery):
    """Searches by words. Several queries add up: a passage's score is the sum of weight times score.

    Args:
        analyzer: the analyzer that makes words of texts.
        k1: saturation of term frequency.
        b: normalisation by passage length.
    """

    searches_by = "lexical"

    def __init__(self, analyzer: str, k1: float, b: float) -> None:
        self.analyzer = analyzer
        self.k1 = k1
        self.b = b

    def identity(self) -> Mapping[str, Any]:
        return {"leg": "bm25", "analyzer": self.analyzer, "k1": self.k1, "b": self.b}

    def mapping_properties(self) -> dict[str, Any]:
        return {CONTENT: {"type": "text", "analyzer": self.analyzer, "similarity": _SIMILARITY}}

    def index_settings(self) -> dict[str, Any]:
        return {"similarity": {_SIMILARITY: {"type": "BM25", "k1": self.k1, "b": self.b}}}

    def build_searches(self, queries: Sequence[Query], size: int) -> list[WeightedSearch]:
        matches = [
            {"match": {CONTENT: {"query": query.text, "boost": query.weight}}} for query in queries
        ]
        if not matches:
            return []
        return [
            WeightedSearch(
                {"query": matches[0] if len(matches) == 1 else {"bool": {"should": matches}}}
            )
        ]


class DenseSubquery(Subquery):
    """Searches by vectors. Several queries become one: the sum of weight times vector, scaled to unit length.

    Scores are cosines.

    Args:
        engine: what the cluster runs.
        embedder: makes the vectors of passages and queries.
        vectors: how they are indexed: a graph ("hnsw"), a graph of quantised vectors ("int8_hnsw"),
            or none ("flat").
        candidates: nearest neighbours that each shard considers.
    """

    def __init__(
        self, engine: Elasticsearch, embedder: Embedder, vectors: VectorIndexType, candidates: int
    ) -> None:
        self.engine = engine
        self.embedder = embedder
        self.vectors = vectors
        self.candidates = candidates
        # An embedder that was built by hand has no fingerprint to share an index by: it gets an
        # index of its own.
        self._unique_id = uuid4().hex

    def identity(self) -> Mapping[str, Any]:
        return {
            "leg": "dense",
            "embedder": self.embedder.fingerprint or self._unique_id,
            "vectors": self.vectors,
        }

    def mapping_properties(self) -> dict[str, Any]:
        dimensions = int(self.embedder.embed(["dimensions"]).shape[1])
        return {"vector": self.engine.build_vector_field(dimensions, self.vectors)}

    def index_settings(self) -> dict[str, Any]:
        return self.engine.build_vector_settings(self.vectors)

    def build_fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        """Embed passages. A passage of which the embedder knows nothing gets no vector, and is not
        found by one.
        """
        rows = embed_uncached(self.embedder, [passage.content for passage in passages])
        return [{"vector": row.tolist()} if row.any() else {} for row in rows]

    def build_searches(self, queries: Sequence[Query], size: int) -> list[WeightedSearch]:
        vector = combine_vectors(self.embedder, queries)
        if vector is None:
            return []
        return [
            WeightedSearch(
                self.engine.build_vector_search(
                    vector.tolist(), size, self.candidates, self.vectors
                )
            )
        ]

    def convert_score(self, score: float) -> float:
        return 2 * score - 1  # engines have no negative scores: they return (1 + cosine) / 2

    def note(self) -> str:
        return (
            "" if self.vectors == "flat" else f"The vector search is approximate ({self.vectors})."
        )
