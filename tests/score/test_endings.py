"""How a run ended: whole, partial or failed, and what a partial one lacks."""

import json
from pathlib import Path
from typing import Any

import pytest

from convrag.api.passages import Hit, Passage
from convrag.api.queries import Query
from convrag.api.records import RunSummary, TurnRecord, Usage
from convrag.score.endings import describe_gaps, label_state
from convrag.score.scoring import Scores
from convrag.score.summary import format_summary, read_summary, summarize

TIMINGS = {"rewriter": 0.1, "retriever": 0.1, "reranker": 0.1}


def turn(number: int, rewritten: str = "", **fields: Any) -> TurnRecord:
    question = f"question {number}"
    queries = (Query(rewritten or question),)
    hits = (Hit(Passage("p", "text"), 1.0),)
    given = {"queries": queries, "hits": hits, "timings": TIMINGS, **fields}
    return TurnRecord("c", f"c<::>{number}", "default", number, question, **given)


def summary(**fields: Any) -> RunSummary:
    given = {"turns": 49, "failed": 0, "fallbacks": {}, **fields}
    return RunSummary({}, {}, {"overall": 0}, usage={}, timings={}, seconds=1.0, **given)


@pytest.mark.parametrize(
    ("fields", "state", "status", "gaps", "label"),
    [
        ({}, "ok", 0, "", "ok"),
        ({"fallbacks": {"rewriter": 4}}, "ok", 0, "", "ok"),
        ({"failed": 3}, "partial", 3, "3 of 49 turns failed", "partial: 3/49 failed"),
        (
            {"fallbacks": {"rewriter": 41}, "always_fell_back": ("rewriter",)},
            "partial",
            3,
            "the rewriter fell back in all 41 turns that it was needed in",
            "partial: rewriter fell back",
        ),
        (
            {"stopped": "the limit is reached"},
            "partial",
            3,
            "stopped after 49 turns (the limit is reached)",
            "partial: stopped",
        ),
        (
            {"failed_metrics": {"judge": "2 of its 49 calls failed"}},
            "partial",
            3,
            "metrics.judge: 2 of its 49 calls failed",
            "partial: metrics.judge",
        ),
        ({"failed": 49}, "failed", 1, "49 of 49 turns failed", "failed"),
        (
            {"turns": 0, "stopped": "no money"},
            "failed",
            1,
            "stopped after 0 turns (no money)",
            "failed",
        ),
    ],
)
def test_states(
    fields: dict[str, Any], state: str, status: int, gaps: str, label: str, tmp_path: Path
) -> None:
    made = summary(**fields)
    assert (made.state, made.exit_status, describe_gaps(made), label_state(made)) == (
        state,
        status,
        gaps,
        label,
    )
    path = tmp_path / "metrics.json"
    path.write_text(format_summary(made))
    assert json.loads(path.read_text())["state"] == state
    assert read_summary(path) == made


def test_metrics_of_an_early_version_are_read(tmp_path: Path) -> None:
    row = json.loads(format_summary(summary(failed=3)))
    for name in ("state", "always_fell_back", "failed_metrics"):
        del row[name]
    (tmp_path / "metrics.json").write_text(json.dumps(row))
    assert read_summary(tmp_path / "metrics.json").state == "partial"


@pytest.mark.parametrize(
    ("records", "always"),
    [
        ([turn(1), turn(2)], ()),  # rewriter=none: it has nothing to do
        ([turn(1, fallbacks={"rewriter": "no"})], ("rewriter",)),
        (
            [turn(1), turn(2, fallbacks={"rewriter": "no"})],
            ("rewriter",),
        ),  # a first question is left as it is
        ([turn(1), turn(2, fallbacks={"rewriter": "no"}), turn(3, "rewritten")], ()),
        (
            [
                turn(1),
                turn(2, fallbacks={"rewriter": "no"}),
                turn(3, usage={"rewriter": Usage(reused=1)}),
            ],
            (),
        ),
        ([turn(1, fallbacks={"reranker": "no"}), turn(2)], ()),
        ([turn(1, fallbacks={"reranker": "no"}), turn(2, hits=())], ("reranker",)),
        (
            [turn(1, fallbacks={"generator": "no"}), turn(2, hits=(), timings={"generator": 0.1})],
            ("generator",),
        ),
        (
            [
                turn(1, fallbacks={"reranker": "no"}),
                turn(2, timings={"rewriter": 0.1}, error="retriever: no"),
            ],
            ("reranker",),
        ),
        ([turn(1, fallbacks={"rewriter": "no", "reranker": "no"})], ("reranker", "rewriter")),
    ],
)
def test_stages_that_always_fell_back(records: list[TurnRecord], always: tuple[str, ...]) -> None:
    assert summarize(records, Scores(records, {}, {})).always_fell_back == always
