"""Metrics are asked one by one: what they return is values, and a report where they have one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from convrag.api.records import Measurement, Report, TurnRecord
from convrag.api.stages import Metrics
from convrag.score.measuring import measure
from convrag.score.summary import join_reports

RECORDS = [TurnRecord("c", "c<::>1", "default", 1, "q")]


class Counting(Metrics):
    def __init__(self, given: Any) -> None:
        self.given = given

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


def test_a_report_comes_with_the_values() -> None:
    report = Report("judging", ("one line",))
    measured = measure({"a": Counting(Measurement({"c<::>1": {"m": 1.0}}, report=report))}, RECORDS)
    assert measured.reports == [report]
    assert measured.values[0][1] == {"c<::>1": {"m": 1.0}}
    assert not measured.stopped


def test_one_that_fails_or_returns_nonsense_costs_its_own_numbers() -> None:
    metrics = {"a": Counting([1]), "b": Counting(ValueError("no")), "c": Counting({"c<::>1": {"m": 1.0}})}
    measured = measure(metrics, RECORDS)
    assert [values for _, values in measured.values] == [{"c<::>1": {"m": 1.0}}]
    assert measured.reports == []
    assert measured.stopped == "metrics.a failed: it gave list, and no mapping of turns to measures"


def test_reports_of_one_title_are_joined() -> None:
    joined = join_reports(
        [
            Report("judging", ("a", "b"), {"nuggets": 1}, {"n.jsonl": "x"}),
            Report("other", ("c",)),
            Report("judging", ("b", "d"), {"judge": 2}),
        ]
    )
    assert joined == [
        Report("judging", ("a", "b", "d"), {"nuggets": 1, "judge": 2}, {"n.jsonl": "x"}),
        Report("other", ("c",)),
    ]


def test_a_metric_with_nothing_to_measure_says_so() -> None:
    class Silent(Metrics):
        def measure(self, records: Any) -> Any:
            return {"c<::>1": {}}

    report = measure({"answers": Silent()}, []).reports[0]
    assert report.lines[0].startswith("metrics.answers had nothing to measure: no turn has what it compares")
