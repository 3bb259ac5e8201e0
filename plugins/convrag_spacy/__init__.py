"""An embedder with the word vectors of a spaCy pipeline (extra `spacy`)."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_spacy.embedder import SpacyEmbedder

__all__ = ["SpacyEmbedder"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `embedder=spacy`."""
    register("embedder", "spacy", SpacyEmbedder)
