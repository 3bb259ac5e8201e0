"""How a run ended, in words: what a partial one lacks, and which stages fell back whenever they had something to do."""

from collections import Counter
from collections.abc import Iterator

from convrag.api.records import RunSummary, TurnRecord, Usage
from convrag.sdk.printable import count


class FallbackCounter:
    """Counts the turns in which stages fell back, and those in which they did their work."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._worked: set[str] = set()

    def add(self, record: TurnRecord) -> None:
        """Add a turn."""
        self.counts.update(record.fallbacks.keys())
        self._worked.update(stage for stage in record.timings if _did_its_work(record, stage))

    def find_always(self) -> tuple[str, ...]:
        """The stages that fell back in every turn in which they had something to do."""
        return tuple(stage for stage in sorted(self.counts) if stage not in self._worked)


def _did_its_work(record: TurnRecord, stage: str) -> bool:
    """Whether a stage had something to do in a turn, and did it.

    A rewriter that leaves the first question of a conversation as it is, without a call, had nothing to do; nor had a
    memory in the first turn, or a reranker or selector without passages.
    """
    if stage in record.fallbacks:
        return False
    usage = record.usage.get(stage, Usage())
    if usage.calls > usage.failed or usage.reused:
        return True
    if stage == "rewriter":
        return [query.text for query in record.queries] not in ([], [record.original_query])
    if stage == "memory":
        return record.number > 1
    return stage not in ("reranker", "selector") or bool(record.hits)


def describe_gaps(summary: RunSummary) -> str:
    """What a run lacks: "3 of 49 turns failed; metrics.judge: 2 of its 40 calls failed"; empty if nothing."""
    return "; ".join(_list_gaps(summary))


def _list_gaps(summary: RunSummary) -> Iterator[str]:
    if summary.stopped:
        yield f"stopped after {count(summary.turns, 'turn')} ({summary.stopped})"
    if summary.failed:
        yield f"{summary.failed} of {count(summary.turns, 'turn')} failed"
    for stage in summary.always_fell_back:
        turns = summary.fallbacks[stage]
        yield f"the {stage} fell back in {'the one turn' if turns == 1 else f'all {turns} turns'} that it was needed in"
    for name, reason in summary.failed_metrics.items():
        yield f"metrics.{name}: {reason}"


def describe_ending(summary: RunSummary) -> str:
    """A sentence on how a run ended if not well; empty for a whole one."""
    if summary.state == "ok":
        return ""
    gaps = describe_gaps(summary) or "no turn was run"
    return f"This run {_STATES[summary.state]}: {gaps}."


_STATES = {"partial": "is partial", "failed": "failed"}


def label_state(summary: RunSummary) -> str:
    """A run's state for a table, with counts: "partial: 3/49 failed, rewriter fell back"."""
    parts = [f"{summary.failed}/{summary.turns} failed"] if summary.failed else []
    parts += [f"{stage} fell back" for stage in summary.always_fell_back]
    parts += ["stopped"] if summary.stopped else []
    parts += [f"metrics.{name}" for name in summary.failed_metrics]
    return f"{summary.state}: {', '.join(parts)}" if summary.state == "partial" else summary.state
