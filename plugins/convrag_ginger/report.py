"""The report of a run with GINGER: how many turns had an answer, and how many sentences are unsupported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from convrag import Report, TurnRecord

TITLE = "ginger"


def report_outcomes(records: Iterable[TurnRecord]) -> Report | None:
    """Count outcomes, nuggets and sentences over the run; None where another generator, or none, answered."""
    counts: Counter[str] = Counter(answered=0, single=0, unanswerable=0, nuggets=0, sentences=0, reduced=0, left_out=0, unsupported=0)
    for record in records:
        trace = record.trace.get("generator", {})
        if "outcome" in trace:
            sentences = trace.get("sentences", ())
            counts[str(trace["outcome"])] += 1
            counts["nuggets"] += len(trace["nuggets"])
            counts["sentences"] += len(sentences)
            counts["reduced"] += trace.get("reduced", 0)
            counts["left_out"] += trace.get("left_out", 0)
            counts["unsupported"] += sum(not sentence["supported"] for sentence in sentences)
    if not counts["answered"] + counts["single"] + counts["unanswerable"]:
        return None  # no turn was answered by this generator, as where answers come from a file
    line = (
        f"{counts['answered'] + counts['single']} turns answered from {counts['nuggets']} nuggets "
        f"({counts['single']} of them from a single one), {counts['unanswerable']} unanswerable; "
        f"{counts['sentences']} sentences, {counts['reduced']} of them reduced to a quotation, {counts['left_out']} left "
        f"out, {counts['unsupported']} flagged as unsupported"
    )
    return Report(TITLE, (line,), dict(counts))
