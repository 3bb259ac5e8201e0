"""The report of a run with generator=drafts: what was decided, which drafts were chosen, and what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from convrag import Report, TurnRecord

TITLE = "drafts"


def report_outcomes(records: Iterable[TurnRecord]) -> Report | None:
    """Count decisions, spans, drafts, votes and failures; None where this generator answered no turn."""
    counts: Counter[str] = Counter()
    names = ("answerable", "partial", "unanswerable", "conversational", "unknown")
    for record in records:
        trace = record.trace.get("generator", {})
        if "answerability" not in trace:
            continue
        counts[str(trace["answerability"]["decision"])] += 1
        counts["spans"] += len(trace["spans"])
        counts["spans_dropped"] += trace["spans_dropped"]
        counts["votes"] += len(trace.get("votes", ()))
        counts["failures"] += len(trace["failures"])
        for draft in trace.get("drafts", ()):
            counts[f"from_{draft['from']}"] += bool(draft.get("chosen"))
    numbers = {
        name: counts[name]
        for name in (*names, "spans", "spans_dropped", "votes", "from_spans", "from_passages", "failures")
    }
    if not any(counts[name] for name in names):
        return None
    decided = ", ".join(f"{counts[name]} {name}" for name in names if counts[name])
    line = (
        f"{decided}; {counts['spans']} spans, {counts['spans_dropped']} quotations dropped; {counts['from_spans']} "
        f"answers are the draft from the spans, {counts['from_passages']} that from the passages, by "
        f"{counts['votes']} votes; {counts['failures']} steps failed"
    )
    return Report(TITLE, (line,), numbers)
