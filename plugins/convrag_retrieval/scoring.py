"""What our retrievers can do beyond searching: say what a given passage would score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from convrag import Query


@runtime_checkable
class ScoresPassages(Protocol):
    """A retriever that scores any passage of its corpus, found or not."""

    def scores(self, queries: Sequence[Query], ids: Sequence[str]) -> Mapping[str, float]:
        """Passage id -> the score that `retrieve` goes by, 0 for no match; ids that its corpus lacks are left out."""
