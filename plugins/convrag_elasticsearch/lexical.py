"""Search by words: BM25 as Lucene computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from convrag import Query
from convrag_elasticsearch.documents import CONTENT
from convrag_elasticsearch.legs import Leg, Search

_SIMILARITY = "passages"


class Lexical(Leg):
    """Several queries add up: a passage's score is the sum of weight times score.

    Args:
        analyzer: makes words of texts, by Elasticsearch's names.
        k1: of BM25.
        b: of BM25.
    """

    def __init__(self, analyzer: str, k1: float, b: float) -> None:
        self.analyzer = analyzer
        self.k1 = k1
        self.b = b

    def identity(self) -> Mapping[str, Any]:
        return {"leg": "bm25", "analyzer": self.analyzer, "k1": self.k1, "b": self.b}

    def properties(self) -> dict[str, Any]:
        return {CONTENT: {"type": "text", "analyzer": self.analyzer, "similarity": _SIMILARITY}}

    def settings(self) -> dict[str, Any]:
        return {"similarity": {_SIMILARITY: {"type": "BM25", "k1": self.k1, "b": self.b}}}

    def searches(self, queries: Sequence[Query], size: int) -> list[Search]:
        matches = [{"match": {CONTENT: {"query": query.text, "boost": query.weight}}} for query in queries]
        if not matches:
            return []
        return [Search({"query": matches[0] if len(matches) == 1 else {"bool": {"should": matches}}})]
