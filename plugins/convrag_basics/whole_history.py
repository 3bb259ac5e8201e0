"""`memory=all`: the whole history."""

from convrag import Memory, MemoryView, Question


class WholeHistory(Memory):
    """Let the other stages see the whole history, as it was said."""

    def view(self, question: Question) -> MemoryView:
        """All turns before this one."""
        return MemoryView(question.history)
