"""The evidence is what was retrieved."""

from __future__ import annotations

from collections.abc import Sequence

from convrag.stages import Context
from convrag.types import Evidence, EvidenceItem, Hit, Message, Question


class FullContext(Context):
    """Show the model every retrieved passage in full, best first."""

    def assemble(self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]) -> Evidence:
        """Each distinct passage once, numbered from 1, with its title."""
        distinct = {hit.passage.id: hit.passage for hit in reversed(hits)}  # the best-ranked copy is written last
        ordered = [distinct.pop(hit.passage.id) for hit in hits if hit.passage.id in distinct]
        items = tuple(EvidenceItem(number, passage, passage.content) for number, passage in enumerate(ordered, start=1))
        return Evidence(items, {"repeated": len(hits) - len(items)})
