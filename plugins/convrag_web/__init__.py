"""convrag in the browser: a server with a chat page, and the reports of runs and grids.

* `server`: HTTP: the OpenAI protocol, and conversations with their state (`task=serve`).
* `page`: the chat page, as static files.
* `report`: report.html of a run, of a grid and of a comparison.
* `view`: how a turn is shown, in the chat page and in the reports.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from convrag import Passage, Register, Report, Run, RunSummary, TurnRecord, hookimpl
from convrag.sdk.types import Sweep


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the task."""
    register(
        "task",
        "serve",
        "convrag_web.server.task:ServeTask",
        "Serve conversations over HTTP: a chat page, OpenAI's protocol below /v1, an API "
        "below /api.",
    )


@hookimpl
def convrag_run_written(
    run: Run,
    summary: RunSummary,
    records: Iterable[TurnRecord],
    scores: Mapping[str, Mapping[str, float]],
    find_passages: Callable[[str, Sequence[str]], Sequence[Passage]],
    folder: Path,
) -> None:
    """Write report.html of a run, unless the setting `report` says no."""
    if run.config.get("report", True):
        from convrag_web.report.reports import write_run_report

        write_run_report(run, summary, records, scores, find_passages, folder)


@hookimpl(tryfirst=True)
def convrag_run_finished(run: Run, summary: RunSummary) -> str | None:
    """Say where report.html is; the report of a grid links to the reports of its cells."""
    return None if run.sweep else _describe_report(run.folder)


@hookimpl
def convrag_runs_compared(
    report: Report, runs: Mapping[str, Path], folder: Path, config: Mapping[str, Any]
) -> None:
    """Write report.html of a grid, or of runs that task=compare has compared."""
    if config.get("report", True):
        from convrag_web.report.reports import write_comparison_report

        write_comparison_report(report, runs, folder)


@hookimpl(tryfirst=True)
def convrag_sweep_finished(sweep: Sweep, reports: list[Report]) -> str | None:
    """Say where report.html is."""
    return None if sweep.interrupted else _describe_report(sweep.folder)


def _describe_report(folder: Path) -> str | None:
    path = folder / "report.html"
    return f"To look into each turn, open {path}" if path.exists() else None
