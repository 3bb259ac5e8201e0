"""What a way of searching is made of: a hybrid one has two legs, all others one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from convrag import Passage, Query

if TYPE_CHECKING:
    from convrag_elasticsearch.cluster import Cluster

Body = dict[str, Any]


class Search(NamedTuple):
    """One search: `query` or `knn` with what belongs to it, and the weight of its ranking among several."""

    body: Body
    weight: float = 1.0


class Leg(ABC):
    """One way to find passages: what it indexes of them, and how it searches that."""

    fuses = False
    """Whether several queries are several searches."""

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """What decides what is indexed, as plain data: it is part of the index's name."""

    @abstractmethod
    def properties(self) -> dict[str, Any]:
        """The mapping of its fields."""

    def settings(self) -> dict[str, Any]:
        """Settings that the index needs for it."""
        return {}

    def processors(self) -> list[dict[str, Any]]:
        """What the cluster must do with each document before it is indexed."""
        return []

    def fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        """Its fields of each passage, beside those that every document has."""
        return [{} for _ in passages]

    @abstractmethod
    def searches(self, queries: Sequence[Query], size: int) -> list[Search]:
        """Queries of one rewrite, all with text and a positive weight -> one search, or several whose ranks are fused;
        none where nothing can be found.
        """

    def score(self, score: float) -> float:
        """The cluster's score on this leg's own scale."""
        return score

    def problems(self) -> Iterator[str]:
        """What is missing on this machine."""
        yield from ()

    def lacks(self, cluster: Cluster) -> list[str]:
        """What is missing on the cluster for searching."""
        return []

    def provide(self, cluster: Cluster) -> list[str]:
        """Make what the cluster must have before indexing; what is still missing then."""
        return self.lacks(cluster)

    def note(self) -> str:
        """A sentence for the run's summary; else empty."""
        return ""
