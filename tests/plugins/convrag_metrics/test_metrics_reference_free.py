from typing import Any

import pytest

from convrag import Answer, Conversation, Dataset, Evidence, EvidenceItem, Passage, Turn, TurnRecord
from convrag.testing import MetricsContract, TinyDataset
from convrag_metrics.reference_free import ReferenceFreeMetrics


class Unjudged(Dataset):
    """Two conversations, and maybe something to compare their answers with."""

    def __init__(self, *, answer: str = "", judged: bool = False) -> None:
        self.answer = answer
        self.judged = judged

    def conversations(self) -> Any:
        return iter(
            [Conversation("tea", (Turn("tea<::>1", "Why does a kettle whistle?", self.answer),))]
        )

    def qrels(self) -> Any:
        return {"tea<::>1": {"p": 1}} if self.judged else {}


class TestContract(MetricsContract):
    def records(self) -> list[TurnRecord]:
        first, second = super().records()
        return [first, record("Steam escapes [1].", "tea<::>3"), second]

    def make(self) -> ReferenceFreeMetrics:
        return ReferenceFreeMetrics(dataset=Unjudged())


def record(answer: str, turn: str = "tea<::>1") -> TurnRecord:
    evidence = Evidence(
        (EvidenceItem(1, Passage("p", "Steam escapes through a hole."), "Steam escapes."),)
    )
    return TurnRecord("tea", turn, "default", 1, "?", answer=Answer(answer), evidence=evidence)


def test_answers_are_measured_by_their_evidence() -> None:
    metric = ReferenceFreeMetrics(dataset=Unjudged())
    records = [
        record("Steam escapes [1]. It is made of cheese [1]."),
        record("I do not know.", "tea<::>2"),
        record("", "tea<::>3"),
    ]
    values = metric.measure(records)
    expected = {"tea<::>1": 1.0, "tea<::>2": 0.0, "tea<::>3": 0.0}
    assert {turn: each["answered"] for turn, each in values.items()} == expected
    assert values["tea<::>1"]["grounded_sentences"] == 0.5
    assert "grounded_sentences" not in values["tea<::>2"]
    assert metric.list_measures()[0] == "grounded_sentences"


@pytest.mark.parametrize(
    "dataset", [Unjudged(answer="Steam."), Unjudged(judged=True), TinyDataset()]
)
def test_a_data_set_with_truth_is_not_measured(dataset: Dataset) -> None:
    metric = ReferenceFreeMetrics(dataset=dataset)
    assert dict(metric.measure([record("Steam escapes [1].")])) == {}
    assert metric.explain_gap()
