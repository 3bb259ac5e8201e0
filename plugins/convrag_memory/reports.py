"""The report of a memory: how much of the history the later stages saw."""

from collections.abc import Iterable, Mapping
from typing import Any

from convrag import Memory, Report, TurnRecord


class ReportingMemory(Memory):
    """The base of the memories, whose report says how much of the history they showed."""

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """Report how much of the history was seen, forgotten and recalled."""
        return report_views(records)


def report_views(records: Iterable[TurnRecord]) -> Report | None:
    """Report the turns and tokens that were seen, and the turns that fell out of view or came back.

    None for a run without follow-ups.
    """
    all_traces = [record.trace.get("memory", {}) for record in records]
    traces = [trace for trace in all_traces if trace.get("turns")]
    if not traces:
        return None
    numbers: dict[str, Any] = {
        "follow_ups": len(traces),
        "mean_turns": _mean(traces, "turns"),
        "mean_seen": _mean(traces, "seen"),
    }
    line = (
        f"memory: of {numbers['mean_turns']:.1f} earlier turns, {numbers['mean_seen']:.1f} were "
        "seen on average"
    )
    counted = [trace for trace in traces if "tokens_of_all" in trace]
    if counted:
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
            f"memory: {numbers['fell_out']} times a turn fell out of view, "
            f"{numbers['recalled']} times one came back; each turn's trace names them."
        )
    return Report("memory", tuple(lines), numbers)


def _mean(traces: list[Mapping[str, Any]], name: str) -> float:
    total = sum(float(trace.get(name, 0)) for trace in traces)
    return round(total / len(traces), 4)
