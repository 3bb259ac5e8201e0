"""Task "fluency" without a language model: nothing is better said than it is."""

from __future__ import annotations

from convrag_offline.document_frequencies import Frequencies


def fluency(text: str, frequencies: Frequencies) -> str:
    """The text as it is."""
    return text
