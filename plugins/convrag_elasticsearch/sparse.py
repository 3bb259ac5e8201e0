"""Search by weighted tokens: ELSER, or vectors that were computed outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from convrag import DataError, Passage, Query
from convrag_elasticsearch.documents import CONTENT
from convrag_elasticsearch.endpoint import Endpoint
from convrag_elasticsearch.legs import Leg, Search
from convrag_elasticsearch.token_files import PassageTokens, QueryTokens

if TYPE_CHECKING:
    from convrag_elasticsearch.cluster import Cluster

QueryKind = Literal["sparse_vector", "semantic_text", "text_expansion"]


class Sparse(Leg):
    """Several queries are searched for one by one, and their ranks are fused.

    Args:
        endpoint: where the cluster makes tokens of texts; None where files have all of them.
        query: how the cluster is asked, and what it indexes: see ElserRetriever.
        prune: leave out tokens of little weight, for speed.
        passages: tokens of the passages from a file instead.
        queries: tokens of the queries from a file instead.
    """

    fuses = True

    def __init__(
        self,
        endpoint: Endpoint | None,
        *,
        query: QueryKind = "sparse_vector",
        prune: bool = False,
        passages: PassageTokens | None = None,
        queries: QueryTokens | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.query = query
        self.prune = prune
        self.passages = passages
        self.queries = queries

    def identity(self) -> Mapping[str, Any]:
        if self.passages is not None:
            return {"leg": "tokens", "file": self.passages.fingerprint}
        assert self.endpoint is not None
        kind = "semantic_text" if self.query == "semantic_text" else "sparse_vector"
        return {"leg": kind, "model": self._model}

    def properties(self) -> dict[str, Any]:
        if self.query != "semantic_text":
            return {"tokens": {"type": "sparse_vector"}}
        assert self.endpoint is not None
        return {
            CONTENT: {"type": "text", "index": False, "copy_to": ["semantic"]},
            "semantic": {"type": "semantic_text", "inference_id": self.endpoint.inference_id},
        }

    def processors(self) -> list[dict[str, Any]]:
        if self.passages is not None or self.query == "semantic_text":
            return []
        tokens = {"input_field": CONTENT, "output_field": "tokens"}
        return [{"inference": {"model_id": self._model, "input_output": [tokens]}}]

    def fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        if self.passages is None:
            return super().fields(passages)
        return [{"tokens": tokens} if tokens else {} for tokens in self.passages.of(passages)]

    def searches(self, queries: Sequence[Query], size: int) -> list[Search]:
        found = [(self._query(query, alone=len(queries) == 1), query.weight) for query in queries]
        return [Search({"query": body}, weight) for body, weight in found if body]

    def problems(self) -> Iterator[str]:
        for file in (self.passages, self.queries):
            try:
                if file is not None:
                    file.check()
            except DataError as error:
                yield str(error)

    def lacks(self, cluster: Cluster) -> list[str]:
        return self.endpoint.lacks(cluster) if self.endpoint and self.queries is None else []

    def provide(self, cluster: Cluster) -> list[str]:
        return self.endpoint.provide(cluster) if self.endpoint else []

    @property
    def _model(self) -> str:
        """Who makes the tokens: an endpoint, or for older clusters a model itself."""
        assert self.endpoint is not None
        return self.endpoint.model if self.query == "text_expansion" else self.endpoint.inference_id

    def _query(self, query: Query, *, alone: bool) -> dict[str, Any] | None:
        """What to ask for one query; None where no token of it is known."""
        if self.query == "semantic_text":
            return {"semantic": {"field": "semantic", "query": query.text}}
        if self.query == "text_expansion":
            return {"text_expansion": {"tokens": {"model_id": self._model, "model_text": query.text}}}
        wanted: dict[str, Any] = {"field": "tokens", "prune": self.prune}
        if self.queries is None:
            return {"sparse_vector": wanted | {"inference_id": self._model, "query": query.text}}
        tokens = self.queries.of(query, alone=alone)
        return {"sparse_vector": wanted | {"query_vector": tokens}} if tokens else None
