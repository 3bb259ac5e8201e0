"""What the metrics of this package say of a run, in one report."""

from __future__ import annotations

from convrag import Report, Run, hookimpl
from convrag_judging import judge, nuggets

TITLE = "judging"


@hookimpl
def convrag_report(run: Run) -> Report | None:
    """Put together what metrics=nuggets and metrics=judge have to say, where the run has either."""
    parts = [part for part in (nuggets.report(run), judge.report(run)) if part]
    if not parts:
        return None
    return Report(
        TITLE,
        tuple(line for part in parts for line in part.lines),
        {part.title: part.numbers for part in parts},
        {name: text for part in parts for name, text in part.files.items()},
    )
