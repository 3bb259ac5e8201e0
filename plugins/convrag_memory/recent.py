"""`memory=recent`: the newest turns of the history."""

from collections.abc import Iterable

from convrag import LLM, ConfigError, Memory, MemoryView, Question, Report, Turn, TurnRecord
from convrag_memory.report import TurnTokens, report_views


class RecentMemory(Memory):
    """Show the later stages the newest turns only: `memory.turns=5`, or as many as fit into `memory.tokens=1500`.

    The newest turn is always seen, even where it alone has more tokens, since most references point to it.

    Args:
        llm: counts tokens.
        turns: the most turns; null for no limit (5: in MTRAG, what a question refers to lies further back in few
            conversations, and rewriter=threshold shows as many).
        tokens: the most tokens of the turns' questions and answers together, counted by the llm; null for no limit.

    Raises:
        ConfigError: a limit is below 1, or there is none.
    """

    def __init__(self, *, llm: LLM, turns: int | None = 5, tokens: int | None = None) -> None:
        if turns is None and tokens is None:
            raise ConfigError(
                "memory.turns=null and memory.tokens=null: give one of them a number, or choose memory=all"
            )
        for name, value in (("turns", turns), ("tokens", tokens)):
            if value is not None and value < 1:
                raise ConfigError(f"memory.{name}={value}: it must be at least 1, or null for no limit")
        self.llm = llm
        self.turns = turns
        self.tokens = tokens

    def view(self, question: Question) -> MemoryView:
        """The newest turns within the limits, at least one."""
        history = question.history
        tokens = TurnTokens(self.llm.count_tokens, question.state(self).setdefault("tokens", {}))
        n = len(history) if self.turns is None else min(self.turns, len(history))
        if self.tokens is not None:
            n = self._count_fitting(history[len(history) - n :], tokens)
        seen = history[len(history) - n :]
        trace = {"turns": len(history), "seen": n, "tokens": tokens.sum(seen), "tokens_of_all": tokens.sum(history)}
        return MemoryView(seen, trace if history else {})

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """How much of the history was seen."""
        return report_views(records)

    def _count_fitting(self, turns: tuple[Turn, ...], tokens: TurnTokens) -> int:
        """How many of the newest turns fit into the tokens; 1 where not even the newest does."""
        assert self.tokens is not None
        used = n = 0
        for turn in reversed(turns):
            used += tokens.count(turn)
            if used > self.tokens and n:
                break
            n += 1
        return n
