"""Metrics are asked one by one: what they return is values, and a report where they have one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from convrag import LLM, Completion, LLMError, Message, Prompt
from convrag.api.records import Measurement, Report, TurnRecord
from convrag.api.stages import Metrics
from convrag.score.measuring import measure
from convrag.score.scoring import Scores
from convrag.score.summary import join_reports
from convrag.store.remember import remember
from convrag.store.store import Store

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
    assert not measured.failures


def test_one_that_fails_or_returns_nonsense_costs_its_own_numbers() -> None:
    metrics = {"a": Counting([1]), "b": Counting(ValueError("no")), "c": Counting({"c<::>1": {"m": 1.0}})}
    measured = measure(metrics, RECORDS)
    assert [values for _, values in measured.values] == [{"c<::>1": {"m": 1.0}}]
    assert measured.reports == []
    assert measured.failures == {"a": "it gave list, and no mapping of turns to measures", "b": "ValueError: no"}


class Asking(Metrics):
    """Asks a judge about each turn, and leaves out those of which it says nothing."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        values = {}
        for record in records:
            with suppress(LLMError):
                self.judge.complete(Prompt("judge", (Message("user", record.original_query),)))
                values[record.turn_id] = {"good": 1.0}
        return values


class Judge(LLM):
    def complete(self, prompt: Prompt) -> Completion:
        if "bad" in prompt.messages[0].content:
            raise LLMError("the server said no")
        return Completion("yes", 1, 1)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


@pytest.mark.parametrize(
    ("questions", "failures"),
    [
        (["good", "better"], {}),
        (["good", "bad"], {"asking": "1 of its 2 calls failed"}),
        (["bad", "very bad"], {"asking": "2 of its 2 calls failed"}),
    ],
)
def test_calls_of_a_metric_that_failed_are_told(questions: list[str], failures: dict[str, str], tmp_path: Path) -> None:
    judge = Judge()
    judge.fingerprint = "judge"
    remember(judge, Store(tmp_path))
    records = [TurnRecord("c", f"c<::>{n}", "default", n, question) for n, question in enumerate(questions, 1)]
    measured = measure({"asking": Asking(judge)}, records)
    assert measured.failures == failures
    assert measured.usage["metrics.asking"].failed == sum("bad" in question for question in questions)


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


class Finding(Metrics):
    def __init__(self, values: Mapping[str, float]) -> None:
        self.found = values

    def measure(self, records: Any) -> Any:
        return {"c<::>1": self.found} if self.found else {}


@pytest.mark.parametrize(
    ("by_default", "found", "told"),
    [
        (False, [{"R@5": 1.0}, {}], ["metrics.answers"]),
        (True, [{"R@5": 1.0}, {}], []),
        (True, [{}, {"ROUGE-L": 1.0}], []),
        (True, [{}, {}], ["metrics.ranking", "metrics.answers"]),
    ],
)
def test_what_nobody_asked_for_is_missed_only_where_nothing_is_measured(
    by_default: bool, found: list[dict[str, float]], told: list[str]
) -> None:
    metrics = {name: Finding(values) for name, values in zip(("ranking", "answers"), found, strict=True)}
    assert [report.title for report in measure(metrics, RECORDS, by_default=by_default).reports] == told


def test_a_measure_stands_for_each_metric_that_found_one() -> None:
    class Listing(Finding):
        def list_measures(self) -> list[str]:
            return ["nDCG@5", "R@5", "R@1"]

    given = [Listing({"R@1": 0.5, "R@5": 1.0}), Finding({"words": 3.0, "good": 1.0}), Finding({})]
    measured = measure({str(number): metric for number, metric in enumerate(given)}, RECORDS)
    assert Scores(RECORDS, measured.values).find_main_measures() == ("R@5", "words")
