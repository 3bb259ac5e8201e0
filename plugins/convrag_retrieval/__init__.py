"""Search without a server: retrievers over the data set's own corpus, and rankers, by words, by vectors, or by both."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_retrieval.bm25 import BM25Retriever
from convrag_retrieval.bm25_ranker import BM25Ranker
from convrag_retrieval.dense import DenseRetriever
from convrag_retrieval.embedding_ranker import EmbeddingRanker
from convrag_retrieval.hybrid import HybridRetriever

__all__ = ["BM25Ranker", "BM25Retriever", "DenseRetriever", "EmbeddingRanker", "HybridRetriever"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers and the rankers."""
    register("retriever", "bm25", BM25Retriever)
    register("retriever", "dense", DenseRetriever)
    register("retriever", "hybrid", HybridRetriever)
    register("ranker", "bm25", BM25Ranker)
    register("ranker", "embedding", EmbeddingRanker)
