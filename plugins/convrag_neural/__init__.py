"""Models that run on this machine; they need the extra `neural`."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_neural.cross_encoder import CrossEncoderRanker
from convrag_neural.duot5 import DuoT5Ranker
from convrag_neural.embedder import SentenceTransformersEmbedder
from convrag_neural.monot5 import MonoT5Ranker

__all__ = ["CrossEncoderRanker", "DuoT5Ranker", "MonoT5Ranker", "SentenceTransformersEmbedder"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("embedder", "sentence_transformers", SentenceTransformersEmbedder)
    register("ranker", "cross_encoder", CrossEncoderRanker)
    register("ranker", "duot5", DuoT5Ranker)
    register("ranker", "monot5", MonoT5Ranker)
