"""Word vectors of spaCy's pipelines; they need the extra `spacy`."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_spacy.embedder import SpacyEmbedder

__all__ = ["SpacyEmbedder"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's option."""
    register("embedder", "spacy", SpacyEmbedder)
