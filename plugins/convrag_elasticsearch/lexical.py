"""The lexical subquery: words, by BM25."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from convrag import Query
from convrag_elasticsearch.documents import CONTENT
from convrag_elasticsearch.subquery import Subquery, WeightedSearch

_SIMILARITY = "passages"
"""The name of BM25 with the retriever's parameters."""


class LexicalSubquery(Subquery):
    """Searches by words.

    Several queries add up: a passage's score is the sum of weight times score.

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
        if len(matches) == 1:
            return [WeightedSearch({"query": matches[0]})]
        return [WeightedSearch({"query": {"bool": {"should": matches}}})]
