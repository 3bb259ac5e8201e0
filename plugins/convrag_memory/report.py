"""How much of a history the stages saw: its tokens, and the report of a run."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

from convrag import Report, Turn, TurnRecord


def report_views(records: Iterable[TurnRecord]) -> Report | None:
    """The turns and tokens that were seen of those there were, and the turns that fell out of view or came back.

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

    def __init__(self, count_tokens: Callable[[str], int], known: MutableMapping[tuple[str, str], int]) -> None:
        self._count_tokens = count_tokens
        self._known = known

    def count(self, turn: Turn) -> int:
        """The tokens of one turn."""
        key = turn.question, turn.answer
        if (tokens := self._known.get(key)) is None:
            tokens = self._known[key] = self._count_tokens(turn.question) + self._count_tokens(turn.answer)
        return tokens

    def sum(self, turns: Iterable[Turn]) -> int:
        """The tokens of several turns."""
        return sum(map(self.count, turns))
