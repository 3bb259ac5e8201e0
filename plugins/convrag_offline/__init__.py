"""What runs with no key, no model and no network."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_offline.extractive import ExtractiveLLM
from convrag_offline.lsa import LsaEmbedder

__all__ = ["ExtractiveLLM", "LsaEmbedder"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("llm", "extractive", ExtractiveLLM)
    register("embedder", "lsa", LsaEmbedder)
