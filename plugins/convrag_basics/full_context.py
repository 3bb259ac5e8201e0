"""`context=full`: all retrieved passages in full."""

from collections.abc import Iterable, Sequence

from convrag import Context, Evidence, EvidenceItem, Hit, Message, Question, Turn
from convrag.sdk.ordering import Order, arrange_items


class FullContext(Context):
    """Show the model every retrieved passage in full.

    Args:
        order: retrieval is best first; ends puts the best first and last, since models overlook the middle; stable
            puts passages of earlier turns first, in their old order, so that a provider's prefix cache can be used.
    """

    def __init__(self, *, order: Order = "retrieval") -> None:
        self.order = order

    def assemble(self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]) -> Evidence:
        """Each distinct passage once, numbered from 1 as shown, with its title."""
        distinct = {hit.passage.id: hit.passage for hit in reversed(hits)}  # the best-ranked copy is set last
        ranked = [distinct.pop(hit.passage.id) for hit in hits if hit.passage.id in distinct]
        old = _first_positions(question.whole_history) if self.order == "stable" else {}
        ordered = arrange_items(ranked, self.order, [old.get(passage.id) for passage in ranked])
        items = tuple(EvidenceItem(number, passage, passage.content) for number, passage in enumerate(ordered, start=1))
        return Evidence(items, {"repeated": len(hits) - len(items)})


def _first_positions(history: Iterable[Turn]) -> dict[str, int]:
    """Passage id -> the position (from 0) at which the conversation first showed it."""
    shown = dict.fromkeys(passage.id for turn in history for passage in turn.passages)
    return {passage_id: position for position, passage_id in enumerate(shown)}
