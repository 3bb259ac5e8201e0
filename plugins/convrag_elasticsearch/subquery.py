"""A way to search an index: what it indexes of passages, and how it searches that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from convrag import Passage, Query
from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.elasticsearch_engine import Body


class WeightedSearch(NamedTuple):
    """A search, and the weight of its ranking where several are fused."""

    body: Body
    weight: float = 1.0


class Subquery(ABC):
    """One way to search: what it indexes of passages, and how it searches that."""

    searches_by: ClassVar[Literal["lexical", "dense"]] = "dense"
    """Whether it searches by words or by vectors.

    It decides which queries it takes (`convrag.sdk.search.queries`).
    """

    fuses_queries = False
    """Whether several queries become several searches whose rankings are fused."""

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """Return the settings that decide what is indexed, as plain data.

        Their hash is part of the index's name.
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
        """Build the searches for the queries of one rewrite.

        The rankings of several searches are fused.

        Args:
            queries: all with text and a positive weight.
            size: hits that each search shall find.

        Returns:
            The searches; empty where nothing can be found.
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
