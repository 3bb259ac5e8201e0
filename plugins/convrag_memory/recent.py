"""`memory=recent`: the newest turns of the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Interval

from convrag import (
    LLM,
    ConfigError,
    Embedder,
    Memory,
    MemoryView,
    Question,
    Report,
    Turn,
    TurnRecord,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ReportingMemory(Memory):
    """The base of the memories, whose report says how much of the history was seen."""

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """How much of the history was seen: of turns and tokens, as a summary, forgotten and
        recalled.
        """
        return report_views(records)


@dataclass(kw_only=True, eq=False)
class RecentMemory(ReportingMemory):
    """Show the later stages the newest turns only: `memory.turns=5`, or as many as fit into `memory.tokens=1500`.

    The newest turn is always seen, even where it alone has more tokens, since most references point
    to it.

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
                "memory.turns=null and memory.tokens=null: give one of them a number, or take memory=all"
            )

    def view(self, question: Question) -> MemoryView:
        """The newest turns within the limits, at least one."""
        history = question.history
        tokens = TurnTokens(self.llm.count_tokens, question.state(self).setdefault("tokens", {}))
        n = len(history) if self.turns is None else min(self.turns, len(history))
        if self.tokens is not None:
            n = self._count_fitting(history[len(history) - n :], tokens)
        seen = history[len(history) - n :]
        trace = {
            "turns": len(history),
            "seen": n,
            "tokens": tokens.sum(seen),
            "tokens_of_all": tokens.sum(history),
        }
        return MemoryView(seen, trace if history else {})

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


_DIGITS = 4  # of similarities: later digits differ between machines, and should not decide anything


@dataclass(kw_only=True, eq=False)
class RelevantMemory(ReportingMemory):
    """Show the later stages the turns that resemble the question, and the last ones, in the order of the conversation.

    A turn resembles the question if its embedding (question and answer) is similar enough to the
    question's. The trace has the similarity of each turn that is seen (`similarities`). It is what
    rewriter=threshold does (the targeted rewrite of the DH-RAG authors), for all rewriters and
    generators.

    Args:
        embedder: embeds each turn, once, and the question.
        turns: the most turns that are seen, the last ones among them; the most similar are
            preferred (5: as rewriter=threshold).
        last: how many of the last turns are seen whatever their similarity, since most references
            point to the last one.
        threshold: the least cosine similarity, -1 to 1; -1 always shows as many turns as may be
            seen (.3: as rewriter=threshold; it depends on the embedder).

    Raises:
        ConfigError: `last` is above `turns`.
    """

    libraries = ("numpy",)

    embedder: Embedder
    turns: Annotated[int, Ge(1)] = 5
    last: Annotated[int, Ge(0)] = 1
    threshold: Annotated[float, Interval(ge=-1, le=1)] = 0.3

    def __post_init__(self) -> None:
        if self.last > self.turns:
            raise ConfigError(
                f"memory.last={self.last}: it must be at most memory.turns={self.turns}"
            )

    def view(self, question: Question) -> MemoryView:
        """The similar turns and the last ones; one embedding of the question, and one of each turn
        that is new.
        """
        history = question.history
        if not history:
            return MemoryView(())
        query = self.embedder.embed([question.text], query=True)[0]
        rows = self._embed_turns(question)
        similarities = [round(float(value), _DIGITS) for value in rows @ query]
        always = range(max(len(history) - self.last, 0), len(history))
        others = (n for n in range(always.start) if similarities[n] >= self.threshold)
        similar = sorted(others, key=lambda n: (-similarities[n], -n))[: self.turns - len(always)]
        chosen = sorted([*similar, *always])
        trace = {
            "turns": len(history),
            "seen": len(chosen),
            "selected": [history[n].id for n in chosen],
            "similarities": {history[n].id: similarities[n] for n in chosen},
        }
        return MemoryView(tuple(history[n] for n in chosen), trace)

    def _embed_turns(self, question: Question) -> NDArray[np.float32]:
        """The vectors of the history, shape (turns, dimensions); the conversation's state keeps
        them by their texts.

        Texts are embedded one at a time, since a model may round differently in a batch: after a
        restart they must be equal.
        """
        import numpy as np

        known = question.state(self)
        texts = [_format_turn(turn) for turn in question.history]
        for text in texts:
            if text not in known:
                known[text] = self.embedder.embed([text])[0]
        return np.stack([known[text] for text in texts])


def _format_turn(turn: Turn) -> str:
    return f"{turn.question}\n{turn.answer}".strip()


def report_views(records: Iterable[TurnRecord]) -> Report | None:
    """The turns and tokens that were seen of those there were, and the turns that fell out of view
    or came back.

    None for a run without follow-ups.
    """
    traces = [trace for record in records if (trace := record.trace.get("memory", {})).get("turns")]
    if not traces:
        return None
    numbers: dict[str, Any] = {
        "follow_ups": len(traces),
        "mean_turns": _mean(traces, "turns"),
        "mean_seen": _mean(traces, "seen"),
    }
    line = f"memory: of {numbers['mean_turns']:.1f} earlier turns, {numbers['mean_seen']:.1f} were seen on average"
    if counted := [trace for trace in traces if "tokens_of_all" in trace]:
        numbers["mean_tokens_of_all"] = _mean(counted, "tokens_of_all")
        numbers["mean_tokens"] = _mean(counted, "tokens")
        line += f", of {numbers['mean_tokens_of_all']:,.0f} tokens {numbers['mean_tokens']:,.0f}"
    lines = [f"{line}."]
    if any("summarised" in trace for trace in traces):
        numbers["mean_summarised"] = _mean(traces, "summarised")
        lines.append(f"memory: {numbers['mean_summarised']:.1f} of them were seen as a summary.")
    if any("fell_out" in trace for trace in traces):
        for name in ("fell_out", "recalled"):
            numbers[name] = sum(len(trace.get(name, ())) for trace in traces)
        lines.append(
            f"memory: {numbers['fell_out']} times a turn fell out of view, {numbers['recalled']} times one came back; "
            "each turn's trace names them."
        )
    return Report("memory", tuple(lines), numbers)


def _mean(traces: list[Mapping[str, Any]], name: str) -> float:
    return round(float(sum(trace.get(name, 0) for trace in traces)) / len(traces), 4)


class TurnTokens:
    """Counts the tokens of turns: those of the question and of the answer.

    Args:
        count_tokens: counts the tokens of a text.
        known: (question, answer) -> tokens, for turns that were counted before; new ones are added.
    """

    def __init__(
        self, count_tokens: Callable[[str], int], known: MutableMapping[tuple[str, str], int]
    ) -> None:
        self._count_tokens = count_tokens
        self._known = known

    def count(self, turn: Turn) -> int:
        """The tokens of one turn."""
        key = turn.question, turn.answer
        if (tokens := self._known.get(key)) is None:
            tokens = self._known[key] = self._count_tokens(turn.question) + self._count_tokens(
                turn.answer
            )
        return tokens

    def sum(self, turns: Iterable[Turn]) -> int:
        """The tokens of several turns."""
        return sum(map(self.count, turns))
