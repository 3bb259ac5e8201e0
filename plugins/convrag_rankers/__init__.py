"""Rankers that need no neural model of their own."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_rankers.bm25 import BM25Ranker
from convrag_rankers.embedding import EmbeddingRanker

__all__ = ["BM25Ranker", "EmbeddingRanker"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("ranker", "bm25", BM25Ranker)
    register("ranker", "embedding", EmbeddingRanker)
