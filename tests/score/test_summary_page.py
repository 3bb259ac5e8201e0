"""The summary of a run for people: the table of scores and the remarks."""

from pathlib import Path
from typing import Any

import pytest

from convrag import Run, RunSummary
from convrag.score.summary_page import (
    format_markdown,
    list_remarks,
    make_score_rows,
    make_usage_rows,
)
from convrag.sdk.types import Usage

RUN = Run(Path("here"), {}, conversations=2, turns=4)


def summarize(*domains: str, usage: dict[str, Usage] | None = None, **given: Any) -> RunSummary:
    scored = dict.fromkeys(("overall", *domains), 4)
    scores = {"nDCG@5": 0.5}
    return RunSummary(
        scores, dict.fromkeys(domains, scores), scored, 4, 0, {}, usage or {}, {}, 1.0, **given
    )


def test_a_single_domain_has_no_name() -> None:
    assert make_score_rows(summarize("default"))[0] == ["", "score"]
    assert make_score_rows(summarize("a", "b"))[0] == ["", "a", "b", "overall"]


@pytest.mark.parametrize(
    ("judged", "referenced", "said"),
    [
        (3, 4, "3 of 4 turns have relevance judgements, 4 reference answers."),
        (0, 1, "0 of 4 turns have relevance judgements, 1 reference answer."),
        (1, 0, "1 of 4 turns has relevance judgements, 0 reference answers."),
        (0, 0, ""),
        (None, None, ""),  # results of an earlier version
    ],
)
def test_what_turns_are_compared_with(
    judged: int | None, referenced: int | None, said: str
) -> None:
    lines = list_remarks(RUN, summarize("default", judged=judged, referenced=referenced))
    assert [line for line in lines if "judgements" in line] == ([said] if said else [])


def test_turns_that_are_left_out_are_counted() -> None:
    several = summarize("default", excluded={"fewer than 2 nuggets were detected": 3})
    said = "3 of 4 turns are left out of every metric: fewer than 2 nuggets were detected."
    assert said in list_remarks(RUN, several)
    one = summarize("default", excluded={"why": 1})
    assert "1 of 4 turns is left out of every metric: why." in list_remarks(RUN, one)
    assert not any("left out" in line for line in list_remarks(RUN, summarize("default")))


def test_tokens_are_those_of_language_models() -> None:
    ruled = summarize("default", usage={"generator": Usage(calls=3), "rewriter": Usage(reused=1)})
    assert "Stage calls: 3 made, 1 reused." in list_remarks(RUN, ruled)
    assert make_usage_rows(ruled) == []
    assert "token" not in format_markdown(RUN, ruled)
    asked = summarize(
        "default", usage={"generator": Usage(calls=3, prompt_tokens=1200, completion_tokens=10)}
    )
    assert "Stage calls: 3 made, 0 reused; 1,200 prompt and 10 completion tokens." in list_remarks(
        RUN, asked
    )
    assert "1,200" in make_usage_rows(asked)[1]
