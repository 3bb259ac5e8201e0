"""Retrievers that need no server: over the data set's own corpus, by words, by meaning, or both."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_retrieval.bm25 import BM25Retriever
from convrag_retrieval.dense import DenseRetriever
from convrag_retrieval.hybrid import HybridRetriever

__all__ = ["BM25Retriever", "DenseRetriever", "HybridRetriever"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers."""
    register("retriever", "bm25", BM25Retriever)
    register("retriever", "dense", DenseRetriever)
    register("retriever", "hybrid", HybridRetriever)
