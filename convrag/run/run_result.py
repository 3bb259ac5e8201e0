"""A finished run, read from its folder: its scores, and the records of its turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from convrag.api.errors import DataError
from convrag.api.html import format_table, format_text
from convrag.api.records import RunSummary, TurnRecord
from convrag.run.records import read_records
from convrag.score.summary import read_summary

METRICS_FILE = "metrics.json"


@dataclass(frozen=True)
class RunResult:
    """A run that has ended. Iterate over `records()` for its turns; `summary.overall` holds measure -> score."""

    folder: Path
    summary: RunSummary

    def records(self) -> Iterator[TurnRecord]:
        """Yield the records of the turns, domain by domain. Raises DataError for a broken line."""
        return read_records(self.folder / "intermediate")

    def _repr_html_(self) -> str:
        summary = self.summary
        counts = f"{self.folder.name}: {summary.turns} turns, {summary.failed} failed, {summary.state}"
        rows = []
        for measure, score in summary.overall.items():
            low, high = summary.intervals.get(measure, (score, score))
            domains = [f"{scores[measure]:.4f}" if measure in scores else "" for scores in summary.domains.values()]
            rows.append((measure, f"{score:.4f}", f"{low:.4f} to {high:.4f}", *domains))
        head = ("Measure", "Overall", "95 % interval", *summary.domains)
        return f"<div><p>{format_text(counts)}</p>{format_table(head, rows)}</div>"


def read_run(folder: Path | str) -> RunResult:
    """Read a finished run from its folder. Raises DataError where it has no metrics.json, or a damaged one."""
    path = Path(folder)
    if not (path / METRICS_FILE).is_file():
        raise DataError("this is no folder of a finished run: it has no metrics.json", path=path)
    return RunResult(path, read_summary(path / METRICS_FILE))
