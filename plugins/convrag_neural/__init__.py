"""Models that run on this machine; they need the extra `neural`."""

from __future__ import annotations

from convrag.hookspecs import Register, hookimpl
from convrag_neural.embedder import SentenceTransformersEmbedder

__all__ = ["SentenceTransformersEmbedder"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("embedder", "sentence_transformers", SentenceTransformersEmbedder)
