"""Chunkers: they cut documents into passages."""

from __future__ import annotations

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the chunkers."""
    register("chunker", "none", "convrag_chunkers.whole:NoChunker")
