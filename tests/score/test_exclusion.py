"""Turns that their generator leaves out reach no metric, and the summary counts them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from convrag import Metrics
from convrag.api.records import TurnRecord
from convrag.score.exclusion import MeasuredTurns, find_exclusion
from convrag.score.measuring import measure
from convrag.score.scoring import Scores
from convrag.score.summary import format_summary, read_summary, summarize

WHY = "fewer than 2 nuggets were detected"
EXCLUDED = {"generator": {"excluded": WHY}}
RECORDS = [
    TurnRecord("c", "c<::>1", "default", 1, "q", trace=EXCLUDED),
    TurnRecord("c", "c<::>2", "default", 2, "q", trace={"generator": {"outcome": "answered"}}),
    TurnRecord("c", "c<::>3", "default", 3, "q"),
]


class Counting(Metrics):
    """Gives each turn a 1, and reads the turns twice."""

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        first = [record.turn_id for record in records]
        assert first == [record.turn_id for record in records]
        return {turn_id: {"m": 1.0} for turn_id in first}


def test_no_metric_sees_them() -> None:
    assert find_exclusion(RECORDS[0]) == WHY
    assert list(MeasuredTurns(RECORDS)) == RECORDS[1:]
    measured = measure({"a": Counting(), "b": Counting()}, RECORDS)
    assert {name: list(values) for name, values in measured.values.items()} == {
        "a": ["c<::>2", "c<::>3"],
        "b": ["c<::>2", "c<::>3"],
    }


def test_the_summary_counts_them(tmp_path: Path) -> None:
    metrics = {"a": Counting()}
    scores = Scores(RECORDS, metrics, measure(metrics, RECORDS).values)
    summary = summarize(RECORDS, scores)
    assert (summary.turns, summary.scored["overall"], summary.excluded) == (3, 2, {WHY: 1})
    path = tmp_path / "metrics.json"
    path.write_text(format_summary(summary), encoding="utf-8")
    assert read_summary(path) == summary
