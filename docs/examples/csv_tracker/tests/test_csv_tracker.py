"""The tracker follows runs, and its file is read by the csv module."""

import csv
from pathlib import Path

from csv_tracker.tracker import CsvTracker

from convrag import Run, RunSummary
from convrag.testing import TrackerContract

SUMMARY = RunSummary(
    {"R@5": 0.75, "nDCG@5": 0.5}, {}, {}, 4, 0, {}, {}, {}, 1.0, intervals={"nDCG@5": (0.25, 0.75)}
)


class TestCsvTracker(TrackerContract):
    def make(self) -> CsvTracker:
        return CsvTracker()


def test_each_measure_of_each_run_is_a_row(tmp_path: Path) -> None:
    tracker = CsvTracker(path=tmp_path / "new" / "scores.csv", choices=["rewriter"])
    for rewriter in ("none", "mmr"):
        tracker.convrag_run_finished(
            Run(tmp_path, {"rewriter": {"_option_": rewriter}}, 1, 4), SUMMARY
        )
    with tracker.path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = ("state", "rewriter", "measure", "value", "low", "high")
    assert [[row[name] for name in columns] for row in rows] == [
        ["ok", "none", "R@5", "0.75", "", ""],
        ["ok", "none", "nDCG@5", "0.5", "0.25", "0.75"],
        ["ok", "mmr", "R@5", "0.75", "", ""],
        ["ok", "mmr", "nDCG@5", "0.5", "0.25", "0.75"],
    ]
    assert tracker.check() == []


def test_a_file_of_other_columns_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("name,age\n", encoding="utf-8")
    assert CsvTracker(path=path).check() == [
        f"{path} has other columns: {{place}}.path=another.csv"
    ]
