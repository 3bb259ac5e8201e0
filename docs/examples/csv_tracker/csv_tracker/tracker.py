"""`tracker=csv`: a row for each measure of each run, for pandas, R or a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from convrag import Run, RunSummary, Tracker, hookimpl

MEASURED = ("measure", "value", "low", "high")


class CsvTracker(Tracker):
    """Add a row for each measure of each run to a CSV file.

    The columns are time, folder, sweep, state, then what was chosen, then measure, value, and the
    ends low and high of its 95 % interval. A grid may run in several processes: rows are only ever
    added, those of a run in one piece.

    Args:
        path: the file; it and its folder are made where they are not there.
        choices: the groups that have a column with what was chosen.
    """

    def __init__(
        self,
        *,
        path: Path = Path("outputs/scores.csv"),
        choices: Sequence[str] = (
            "dataset",
            "rewriter",
            "retriever",
            "reranker",
            "generator",
            "llm",
        ),
    ) -> None:
        self.path = path
        self.choices = tuple(choices)
        self.heading = ("time", "folder", "sweep", "state", *self.choices, *MEASURED)

    def check(self) -> list[str]:
        """Say before the first turn that the file is of other columns."""
        if not self.path.exists():
            return []
        with self.path.open(encoding="utf-8", newline="") as file:
            found = next(csv.reader(file), None)
        return (
            []
            if found is not None and tuple(found) == self.heading
            else [f"{self.path} has other columns: {{place}}.path=another.csv"]
        )

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> str:
        """Write the rows, and say where."""
        chosen = [run.config.get(group, {}).get("_option_", "") for group in self.choices]
        start = [
            datetime.now(UTC).isoformat(timespec="seconds"),
            run.folder,
            run.sweep,
            summary.state,
            *chosen,
        ]
        rows = io.StringIO()
        for measure, value in sorted(summary.overall.items()):
            csv.writer(rows).writerow(
                [*start, measure, value, *summary.intervals.get(measure, ("", ""))]
            )
        self._make_file()
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(rows.getvalue())
        return f"Scores added to {self.path}"

    def _make_file(self) -> None:
        """Make the file with its heading, unless it is there; of several processes one does."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.path.open("x", encoding="utf-8", newline="") as file:
                csv.writer(file).writerow(self.heading)
        except FileExistsError:
            pass
