"""Search without a server: retrievers over the data set's own corpus, and rankers, by words, by vectors, or by both."""

from __future__ import annotations

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers and the rankers."""
    register("retriever", "bm25", "convrag_retrieval.bm25:BM25Retriever")
    register("retriever", "dense", "convrag_retrieval.dense:DenseRetriever")
    register("retriever", "hybrid", "convrag_retrieval.hybrid:HybridRetriever")
    register("ranker", "bm25", "convrag_retrieval.bm25_ranker:BM25Ranker")
    register("ranker", "embedding", "convrag_retrieval.embedding_ranker:EmbeddingRanker")
