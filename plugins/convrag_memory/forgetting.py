"""`memory=forgetting`: a budget of tokens, for the turns that are newest or used most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from convrag import LLM, ConfigError, Memory, MemoryView, Question, Report, Turn, TurnRecord
from convrag_memory.report import report_views
from convrag_memory.retention import Retention, compute_weight
from convrag_memory.turn_tokens import TurnTokens


class ForgettingMemory(Memory):
    """Show the later stages the turns of the greatest weights, as many as fit into a budget of tokens.

    A turn's weight is exp(-t / S): t is the number of turns since it was said or last used, and S is 1 plus the number
    of its uses. It is Ebbinghaus's curve of forgetting as MemoryBank has it (Zhong et al., AAAI 2024, arXiv
    2305.10250): each use lets the curve begin anew and fall less steeply. A later turn uses an earlier one if its
    question returns to the words of it, or its answer rests on a passage of it. A turn to which the question itself
    returns weighs 1: what fell out comes back when it is spoken of again, for the conversation keeps everything.

    The trace has the weights of the turns that are seen (`weights`), and the ids of those that have fallen out since
    the question before (`fell_out`) or came back (`recalled`); the run's report counts them.

    Args:
        llm: counts tokens.
        tokens: the budget, for the questions and answers of all turns that are seen (1500: as
            rewriter.history_tokens of rewriter=condense). The last turns may exceed it.
        last: how many of the last turns are seen whatever their size, since most references point to the last one.
        overlap: the least share of a question's content words, each weighed by its rarity in the conversation, that a
            turn must hold for the question to return to it, above 0 and at most 1 (.5: at least half).

    Raises:
        ConfigError: a parameter is out of range.
    """

    libraries = ("PyStemmer",)

    def __init__(self, *, llm: LLM, tokens: int = 1500, last: int = 1, overlap: float = 0.5) -> None:
        for name, value in (("tokens", tokens), ("last", last)):
            if value < 1:
                raise ConfigError(f"memory.{name}={value}: it must be at least 1")
        if not 0 < overlap <= 1:
            raise ConfigError(f"memory.overlap={overlap}: it must be above 0 and at most 1")
        self.llm = llm
        self.tokens = tokens
        self.last = last
        self.overlap = overlap

    def view(self, question: Question) -> MemoryView:
        """The turns that fit, in the order of the conversation."""
        history, state = question.history, question.state(self)
        if not history:
            return MemoryView(())
        tokens = TurnTokens(self.llm.count_tokens, state.setdefault("tokens", {}))
        retention, before = self._remember(history, state, tokens)
        seen = self._choose(retention, question.text, tokens)
        newest = len(history) - 1
        trace = {
            "turns": len(history),
            "seen": len(seen),
            "tokens": tokens.sum(history[n] for n in seen),
            "tokens_of_all": tokens.sum(history),
            "weights": {history[n].id: weight for n, weight in seen.items()},
            "fell_out": [history[n].id for n in before if n not in seen],
            "recalled": [history[n].id for n in seen if n not in before and n != newest],
        }
        return MemoryView(tuple(history[n] for n in seen), trace)

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """How much of the history was seen, and how often turns fell out and came back."""
        return report_views(records)

    def _remember(
        self, history: tuple[Turn, ...], state: dict[str, Any], tokens: TurnTokens
    ) -> tuple[Retention, dict[int, float]]:
        """The retention of all turns, and what the question of the last one has seen.

        The conversation's state is continued; where the history is another one than before, it is made anew.
        """
        retention: Retention | None = state.get("retention")
        if retention is None or history[: len(retention.turns)] != retention.turns:
            retention = state["retention"] = Retention(self.overlap)
        for number in range(len(retention.turns), len(history)):
            if number == len(history) - 1:
                state["before"] = self._choose(retention, history[number].question, tokens)
            retention.add(history[number])
        before: dict[int, float] = state["before"]
        return retention, before

    def _choose(self, retention: Retention, question: str, tokens: TurnTokens) -> dict[int, float]:
        """The numbers of the turns that a question sees, in order, with their weights.

        The last ones first, then by weight; of equal weights the newer one first. A turn that does not fit is left out,
        and a lighter one may take its place.
        """
        turns, ages = retention.turns, retention.find_ages(question)
        always = range(max(len(turns) - self.last, 0), len(turns))
        chosen = set(always)
        left = self.tokens - tokens.sum(turns[n] for n in always)
        for n in sorted(range(always.start), key=lambda n: (ages[n], -n)):
            if left <= 0:
                break
            if (size := tokens.count(turns[n])) <= left:
                chosen.add(n)
                left -= size
        return {n: round(compute_weight(ages[n]), 4) for n in sorted(chosen)}
