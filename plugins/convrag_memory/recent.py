"""`memory=recent`: the newest turns of the history."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from convrag import LLM, ConfigError, MemoryView, Question, Turn
from convrag_memory.reports import ReportingMemory
from convrag_memory.turn_tokens import TurnTokens


@dataclass(kw_only=True, eq=False)
class RecentMemory(ReportingMemory):
    """Show the later stages the newest turns only.

    `memory.turns=5` shows five, `memory.tokens=1500` as many as fit. The newest turn is always
    seen, even where it alone has more tokens, since most references point to it.

    Args:
        llm: counts tokens.
        turns: the most turns; null for no limit (5: in MTRAG, what a question refers to lies
            further back in few conversations, and rewriter=threshold shows as many).
        tokens: the most tokens of the turns' questions and answers together, counted by the llm;
            null for no limit.

    Raises:
        ConfigError: there is no limit.
    """

    llm: LLM
    turns: Annotated[int, Ge(1)] | None = 5
    tokens: Annotated[int, Ge(1)] | None = None

    def __post_init__(self) -> None:
        if self.turns is None and self.tokens is None:
            raise ConfigError(
                "memory.turns=null and memory.tokens=null: give one of them a number, or take "
                "memory=all"
            )

    def view(self, question: Question) -> MemoryView:
        """Return the newest turns within the limits, at least one."""
        history = question.history
        tokens = TurnTokens(self.llm.count_tokens, question.state(self).setdefault("tokens", {}))
        seen = history if self.turns is None else history[-self.turns :]
        if self.tokens is not None:
            fitting = _count_fitting(seen, self.tokens, tokens)
            seen = seen[len(seen) - fitting :]
        trace = {
            "turns": len(history),
            "seen": len(seen),
            "tokens": tokens.sum(seen),
            "tokens_of_all": tokens.sum(history),
        }
        return MemoryView(seen, trace if history else {})


def _count_fitting(turns: tuple[Turn, ...], limit: int, tokens: TurnTokens) -> int:
    """Count the newest turns that fit into a number of tokens, at least the newest one."""
    used = 0
    fitting = 0
    for turn in reversed(turns):
        used += tokens.count(turn)
        if used > limit and fitting:
            break
        fitting += 1
    return fitting
