"""`selector=top`: the first passages."""

from collections.abc import Sequence

from convrag import Hit, Question, Selection, Selector


class TopSelector(Selector):
    """Choose the first passages of the ranking, as many as top_n says."""

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """The first n hits."""
        return Selection(tuple(hits[:n]))
