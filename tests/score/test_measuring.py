"""Metrics are asked one by one: what they return is values, and a report where they have one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from convrag import LLM, Completion, ConfigError, LLMError, Message, Metrics, Prompt, Store
from convrag.api.records import Measurement, Report, TurnRecord
from convrag.config.settings import DEFAULT_METRICS
from convrag.score.measuring import check_measures_differ, join_reports, measure
from convrag.score.scoring import Scores
from convrag.score.summary import summarize
from convrag.store.remember import remember

RECORDS = [TurnRecord("c", "c<::>1", "default", 1, "q")]


class Counting(Metrics):
    def __init__(self, given: Any) -> None:
        self.given = given

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


def test_one_that_fails_or_returns_nonsense_costs_its_own_numbers() -> None:
    metrics = {
        "a": Counting([1]),
        "b": Counting(ValueError("no")),
        "c": Counting({"c<::>1": {"m": 1.0}}),
    }
    measured = measure(metrics, RECORDS)
    assert measured.values == {"c": {"c<::>1": {"m": 1.0}}}
    assert measured.reports == []
    line = Counting.measure.__code__.co_firstlineno + 2
    assert measured.failures == {
        "a": "it gave [1], and no mapping of turns to measures",
        "b": f"this should not have happened: {__name__}.Counting.measure raised ValueError: no ({__file__}, line "
        f"{line})",
    }


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"c<::>1": [1.0]}, r"1 of its values are no numbers of turns .*'c<::>1': \[1.0\]"),
        ({"c<::>1": {"m": nan, "n": 1.0}}, r"\(m of c<::>1: nan\)"),
        ({"c<::>1": {"m": inf, "n": 1.0}}, "m of c<::>1: inf"),
        ({"c<::>1": {"m": "high", "n": 1.0}}, "m of c<::>1: 'high'"),
        ({"c<::>1": {3: 1.0, "n": 1.0}}, "3 of c<::>1: 1.0"),
        ({"c": {"m": 1.0}}, r"left out \('c': "),
        (
            Measurement({"c<::>1": {"n": 1.0}}, report="well done"),
            "its report is 'well done', and no convrag.Report",
        ),  # type: ignore[arg-type]
        (Measurement({"c<::>1": {"n": 1.0}}, report=Report("x", "line")), "lines a tuple of them"),  # type: ignore[arg-type]
        (Measurement({"c<::>1": {"n": 1.0}}, report=Report("x", (), [1])), "plain data by name"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_said(given: Any, reason: str) -> None:
    measured = measure({"a": Counting(given)}, RECORDS)
    assert re.search(reason, measured.failures["a"])
    assert measured.reports == []
    kept = {"n": 1.0} if "'n': 1.0" in str(given) else {}
    assert measured.values["a"].get("c<::>1", {}) == kept


class Declaring(Counting):
    def list_measures(self) -> Sequence[str]:
        return tuple(self.given["c<::>1"])


def test_two_metrics_with_one_measure_are_refused_before_the_run() -> None:
    """`metrics=[ranking, mine]`, where mine also gave nDCG@5, showed the values of the last."""
    one, other = Declaring({"c<::>1": {"m": 1.0}}), Declaring({"c<::>1": {"n": 0.0, "m": 0.0}})
    check_measures_differ({"one": one})
    with pytest.raises(
        ConfigError, match=r"metrics.one and metrics.other both measure 'm': leave one of them out"
    ):
        check_measures_differ({"one": one, "other": other})


class Concluding(Counting):
    def __init__(self, given: Any, concluded: Any) -> None:
        super().__init__(given)
        self.concluded = concluded

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        return self.concluded(means)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("concluded", "reason"),
    [
        (
            lambda means: 1 / 0,
            "Concluding.conclude raised ZeroDivisionError: .*test_measuring.py, line ",
        ),
        (lambda means: [1], "Concluding.conclude raised TypeError"),
        (lambda means: {"m": "high"}, "Concluding.conclude raised TypeError"),
    ],
)
def test_a_metric_that_cannot_conclude_costs_its_own_scores(concluded: Any, reason: str) -> None:
    """It ended the run with nothing kept."""
    metrics = {
        "sound": Counting({"c<::>1": {"one": 1.0}}),
        "bad": Concluding({"c<::>1": {"m": 1.0}}, concluded),
    }
    measured = measure(metrics, RECORDS)
    scores = Scores(RECORDS, metrics, measured.values)
    summary = summarize(RECORDS, scores, failed_metrics=measured.failures)
    assert summary.overall["one"] == 1.0
    assert list(summary.failed_metrics) == ["bad"]
    assert re.search(reason, summary.failed_metrics["bad"])
    assert summary.exit_status == 3


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
def test_calls_of_a_metric_that_failed_are_told(
    questions: list[str], failures: dict[str, str], tmp_path: Path
) -> None:
    judge = Judge()
    judge.fingerprint = "judge"
    remember(judge, Store(tmp_path))
    records = [
        TurnRecord("c", f"c<::>{n}", "default", n, question)
        for n, question in enumerate(questions, 1)
    ]
    measured = measure({"asking": Asking(judge)}, records)
    assert measured.failures == failures
    assert measured.usage["metrics.asking"].failed == sum(
        "bad" in question for question in questions
    )


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

    class SilentRanking(Silent):
        reads = ("ranking",)

    lines = [
        report.lines[0]
        for report in measure({"answers": Silent(), "mine": SilentRanking()}, RECORDS).reports
    ]
    assert lines[0].startswith(
        "metrics.answers had nothing to measure: no turn has a ranking and qrels, or an answer"
    )
    assert lines[1] == "metrics.mine had nothing to measure: no turn has a ranking and qrels."


class Finding(Metrics):
    def __init__(self, values: Mapping[str, float]) -> None:
        self.found = values
        self.listed: list[str] = []

    def measure(self, records: Any) -> Any:
        return {"c<::>1": self.found} if self.found else {}

    def list_measures(self) -> list[str]:
        return self.listed


_LENGTH = {"evidence_words": 3.0}
"""Compares nothing with the truth: the main measure of `evidence` is another."""


@pytest.mark.parametrize(
    ("stand_in", "found", "told"),
    [
        ("", [{"R@5": 1.0}, {}, {}, _LENGTH], ["metrics.answers", "metrics.reference_free"]),
        ("reference_free", [{"R@5": 1.0}, {}, {}, _LENGTH], []),
        ("reference_free", [{}, {"ROUGE-L": 1.0}, {}, _LENGTH], []),
        (
            "reference_free",
            [{}, {}, {"answered": 1.0}, _LENGTH],
            ["metrics.ranking", "metrics.answers"],
        ),
        (
            "reference_free",
            [{}, {}, {}, _LENGTH],
            ["metrics.ranking", "metrics.answers", "metrics.reference_free"],
        ),
    ],
)
def test_what_nobody_asked_for_is_missed_only_where_nothing_is_measured(
    stand_in: str, found: list[dict[str, float]], told: list[str]
) -> None:
    metrics = {name: Finding(values) for name, values in zip(DEFAULT_METRICS, found, strict=True)}
    metrics["evidence"].listed = ["evidence_nDCG", *_LENGTH]
    assert [report.title for report in measure(metrics, RECORDS, stand_in=stand_in).reports] == told


def test_a_metric_says_what_the_data_set_lacks() -> None:
    class Ranking(Finding):
        def list_measures(self) -> list[str]:
            return ["nDCG@5", "R@5"]

        def explain_gap(self) -> str:
            return "the data set has no relevance judgements"

    (report,) = measure({"ranking": Ranking({})}, RECORDS).reports
    expected = "nDCG@5 is not measured (metrics.ranking): the data set has no relevance judgements."
    assert report == Report("metrics.ranking", (expected,))


def test_a_measure_stands_for_each_metric_that_found_one() -> None:
    class Listing(Finding):
        def list_measures(self) -> list[str]:
            return ["nDCG@5", "R@5", "R@1"]

    given = [Listing({"R@1": 0.5, "R@5": 1.0}), Finding({"words": 3.0, "good": 1.0}), Finding({})]
    metrics = {str(number): metric for number, metric in enumerate(given)}
    assert Scores(RECORDS, metrics, measure(metrics, RECORDS).values).find_main_measures() == (
        "R@5",
        "words",
    )
