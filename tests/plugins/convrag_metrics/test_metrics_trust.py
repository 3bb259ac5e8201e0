"""metrics=trust: faithfulness, completeness, appropriateness and refusals, by the words of the
passages.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest
from scipy.stats import spearmanr

from convrag import Answer, Conversation, Dataset, Evidence, EvidenceItem, Passage, Turn, TurnRecord
from convrag.sdk.data.inspectorraget import read_marked_answers
from convrag.testing import MetricsContract
from convrag_metrics.trust import AGREEMENT, TrustMetrics
from fixtures import SHARED

TEA = Passage("tea", "Tea is made of leaves. It is drunk hot.")
KETTLE = Passage("kettle", "A kettle whistles because steam escapes through its lid.")


class Labelled(Dataset):
    def conversations(self) -> Iterator[Conversation]:
        third = Turn("t3", "Who?", labels={"answerability": "UNANSWERABLE"})
        yield Conversation("c", (Turn("t1", "What is tea?"), Turn("t2", "And steam?"), third))


def record(name: str, answer: str, *passages: Passage, **fields: Any) -> TurnRecord:
    items = tuple(EvidenceItem(n, passage, passage.text) for n, passage in enumerate(passages, 1))
    question = {"t1": "What is tea?", "t2": "And steam?", "t3": "Who?"}[name]
    cited = tuple(passage.id for passage in passages)
    return TurnRecord(
        "c",
        name,
        "d",
        1,
        question,
        answer=Answer(answer, cited),
        evidence=Evidence(items),
        **fields,
    )


def measure(*records: TurnRecord) -> dict[str, dict[str, float]]:
    found = TrustMetrics(dataset=Labelled()).measure(records)
    return {
        turn: {name.removeprefix("trust_"): value for name, value in each.items()}
        for turn, each in found.items()
    }


class TestContract(MetricsContract):
    def make(self) -> TrustMetrics:
        return TrustMetrics(dataset=Labelled())


def test_supported_and_unsupported_answers() -> None:
    good = measure(record("t1", "Tea is made of leaves [1].", TEA))["t1"]
    assert (good["faithfulness"], good["appropriateness"], good["completeness"]) == (1.0, 1.0, 1.0)
    assert (good["refusal"], good["unsupported"]) == (0.0, 0.0)
    mixed = measure(record("t1", "Tea is made of leaves. Ale ferments barley.", TEA))[
        "t1"
    ]  # two words of five
    assert (mixed["faithfulness"], mixed["appropriateness"], mixed["unsupported"]) == (
        2 / 5,
        2 / 5,
        1.0,
    )
    assert measure(record("t1", "", TEA))["t1"]["faithfulness"] == 0.0


def test_what_earlier_turns_cited_supports_in_the_second_kind_of_faithfulness() -> None:
    first, second = (
        record("t1", "Tea is made of leaves [1].", TEA),
        record("t2", "Tea is made of leaves.", KETTLE),
    )
    values = measure(first, second)["t2"]
    assert (values["faithfulness"], values["faithfulness_cited"]) == (0.0, 1.0)


def test_a_refusal_is_right_where_the_label_says_so() -> None:
    right, wrong = "I do not know.", record("t1", "I do not know.", TEA)
    values = measure(record("t3", right, TEA), wrong)
    assert (
        values["t3"]["faithfulness"],
        values["t3"]["refusal"],
        values["t1"]["faithfulness"],
    ) == (1.0, 1.0, 0.0)


def test_turns_without_passages_are_counted_and_the_report_says_how_far_to_trust() -> None:
    measured = TrustMetrics(dataset=Labelled()).measure(
        [record("t1", "Yes."), record("t2", "Steam escapes.", KETTLE)]
    )
    assert list(measured) == ["t2"]
    assert measured.report is not None
    agreement, left_out = measured.report.lines
    assert "faithfulness 0.73" in agreement
    assert left_out == "Trust: 1 turns without an answer or passages are left out, such as t1"


PUBLISHED = (
    SHARED / "data/mtrag/mtrag-human/evaluations/reference_subset_with_human_evaluations.json"
)


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="needs MTRAG's marks of people")
def test_the_agreement_that_help_and_report_name_is_the_measured_one() -> None:
    asked = {
        task["task_id"]: task["input"][-1]["text"]
        for task in json.loads(PUBLISHED.read_text("utf-8"))["tasks"]
    }
    answers = [
        each
        for each in read_marked_answers(PUBLISHED)
        if each.model != "reference" and each.passages
    ]
    records = [
        replace(
            record("t1", each.text, *each.passages),
            turn_id=str(n),
            original_query=asked[each.turn_id],
        )
        for n, each in enumerate(answers)
    ]
    found = measure(*records)
    for name, expected in AGREEMENT.items():
        people = [fmean(each.marks["human"][name].values()) for each in answers]
        ours = [found[each.turn_id][name] for each in records]
        assert round(float(spearmanr(ours, people).statistic), 2) == expected
