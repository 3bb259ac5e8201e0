"""`memory=all` and `search=once`: the whole history, and one search."""

from collections.abc import Sequence

from convrag import Memory, MemoryView, Question, Search, SearchStep


class WholeHistory(Memory):
    """Let the other stages see the whole history unchanged."""

    def view(self, question: Question) -> MemoryView:
        """Return all turns before this one."""
        return MemoryView(question.history)


class OnceSearch(Search):
    """Search once, for the queries of the rewriter."""

    several = False

    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """Plan one step."""
        return SearchStep(() if steps else question.queries)
