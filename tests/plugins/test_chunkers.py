"""Chunkers: documents become passages, whatever their script, structure and length."""

from __future__ import annotations

from convrag.testing import ChunkerContract
from convrag_chunkers.whole import NoChunker


class TestNoChunkerContract(ChunkerContract):
    def make(self) -> NoChunker:
        return NoChunker()
