"""The metric on records that are made here."""

import pytest
from novelty.metric import NoveltyMetrics

from convrag import Answer, TurnRecord
from convrag.testing import MetricsContract

ANSWERS = ("The kettle boils at once.", "Yes: the kettle boils at noon.", "No")


RECORDS = [
    TurnRecord("c", f"c{n}", "default", n, "Why?", answer=Answer(text))
    for n, text in enumerate(ANSWERS, 1)
]


class TestNoveltyMetrics(MetricsContract):
    def make(self) -> NoveltyMetrics:
        return NoveltyMetrics()

    def records(self) -> list[TurnRecord]:
        return RECORDS


def test_what_was_said_before_is_not_new() -> None:
    measured = NoveltyMetrics().measure(RECORDS)
    assert measured == {"c2": {"answer_novelty": pytest.approx(2 / 4)}}
    assert measured.report.lines == ("Share of an answer that is new: turn 2: 50%",)
    assert "share that is new" in measured.report.files["novelty.svg"]
