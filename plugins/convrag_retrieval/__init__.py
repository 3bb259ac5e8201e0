"""Retrievers that need no server: lexical search over the data set's own corpus."""

from __future__ import annotations

from convrag.hookspecs import Register, hookimpl
from convrag_retrieval.bm25 import BM25Retriever

__all__ = ["BM25Retriever"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers."""
    register("retriever", "bm25", BM25Retriever)
