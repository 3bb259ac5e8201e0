"""Describes how a run ended: what a partial or failed one lacks."""

from collections.abc import Iterator

from convrag.api.records import RunSummary
from convrag.sdk.output.printable import count

_STATES = {"partial": "is partial", "failed": "failed"}


def describe_gaps(summary: RunSummary) -> str:
    """Describe what a run lacks: "3 of 49 turns failed; metrics.judge: 2 of its 40 calls failed".

    The text is empty for a whole run.
    """
    return "; ".join(_list_gaps(summary))


def _list_gaps(summary: RunSummary) -> Iterator[str]:
    if summary.stopped:
        yield f"stopped after {count(summary.turns, 'turn')} ({summary.stopped})"
    if summary.failed:
        yield f"{summary.failed} of {count(summary.turns, 'turn')} failed"
    for stage in summary.always_fell_back:
        fallbacks = summary.fallbacks[stage]
        turns = "the one turn" if fallbacks == 1 else f"all {fallbacks} turns"
        yield f"the {stage} fell back in {turns} that it was needed in"
    for name, reason in summary.failed_metrics.items():
        yield f"metrics.{name}: {reason}"


def describe_ending(summary: RunSummary) -> str:
    """Describe in a sentence how a run ended if not well; empty for a whole run."""
    if summary.state == "ok":
        return ""
    gaps = describe_gaps(summary) or "no turn was run"
    return f"This run {_STATES[summary.state]}: {gaps}."


def label_state(summary: RunSummary) -> str:
    """Describe a run's state for a table: "partial: 3/49 failed, rewriter fell back"."""
    if summary.state != "partial":
        return summary.state
    parts = []
    if summary.failed:
        parts.append(f"{summary.failed}/{summary.turns} failed")
    parts += [f"{stage} fell back" for stage in summary.always_fell_back]
    if summary.stopped:
        parts.append("stopped")
    parts += [f"metrics.{name}" for name in summary.failed_metrics]
    return f"{summary.state}: {', '.join(parts)}"
