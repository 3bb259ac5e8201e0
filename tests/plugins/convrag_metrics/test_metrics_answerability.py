from collections.abc import Iterator, Mapping

import pytest

from convrag import Answer, Conversation, Dataset, Turn, TurnRecord
from convrag.score.scoring import Scores
from convrag.testing import MetricsContract
from convrag_metrics.answerability import AnswerabilityMetrics
from convrag_metrics.answerability_labels import condition_on_answerability

DUNNO = "I do not know."


class Labelled(Dataset):
    """Turns with these labels, as (label, reference answer)."""

    def __init__(self, *turns: tuple[str, str]) -> None:
        self.turns = tuple(
            Turn(f"c<::>{number}", "?", answer, labels={"Answerability": [label]} if label else {})
            for number, (label, answer) in enumerate(turns, 1)
        )

    def conversations(self) -> Iterator[Conversation]:
        yield Conversation("c", self.turns)


def record(number: int, answer: str, error: str = "", **labels: str) -> TurnRecord:
    turn_id = f"c<::>{number}"
    return TurnRecord(
        "c", turn_id, "default", number, "?", answer=Answer(answer), error=error, labels=labels
    )


def overall(dataset: Dataset, *records: TurnRecord) -> Mapping[str, float]:
    metrics = AnswerabilityMetrics(dataset=dataset)
    return Scores(records, {"m": metrics}, {"m": metrics.measure(records)}).score_all().scores


class TestContract(MetricsContract):
    def make(self) -> AnswerabilityMetrics:
        return AnswerabilityMetrics(dataset=Labelled(("ANSWERABLE", "So.")))


def test_precision_recall_and_f1_by_hand() -> None:
    labels = [
        "UNANSWERABLE",
        "UNANSWERABLE",
        "CONVERSATIONAL",
        "ANSWERABLE",
        "ANSWERABLE",
        "PARTIAL",
    ]
    said = [DUNNO, "It is blue.", DUNNO, DUNNO, "It is green.", f"It is red. {DUNNO}"]
    dataset = Labelled(*((label, "It is green.") for label in labels))
    found = overall(dataset, *(record(number, answer) for number, answer in enumerate(said, 1)))
    assert found["idk_precision"] == pytest.approx(2 / 3)
    assert found["idk_recall"] == pytest.approx(2 / 3)
    assert found["idk_F1"] == pytest.approx(2 / 3)
    assert found["idk_accuracy"] == pytest.approx(4 / 6)
    assert (found["idk"], found["idk_partly"]) == (pytest.approx(3 / 6), pytest.approx(1 / 6))
    assert not {"idk_said", "idk_labelled", "idk_true_positives"} & found.keys()


def test_scores_are_conditioned_as_mtrag_does() -> None:
    labels = ["UNANSWERABLE", "UNANSWERABLE", "ANSWERABLE", "ANSWERABLE"]
    dataset = Labelled(*((label, "It is green.") for label in labels))
    values = AnswerabilityMetrics(dataset=dataset).measure(
        [record(1, DUNNO), record(2, "It is green."), record(3, DUNNO), record(4, "It is green.")]
    )
    assert [values[f"c<::>{number}"]["ROUGE-L_idk"] for number in (1, 2, 3, 4)] == [
        1.0,
        0.0,
        0.0,
        1.0,
    ]
    assert [values[f"c<::>{number}"]["token_F1_idk"] for number in (1, 2, 3, 4)] == [
        1.0,
        0.0,
        0.0,
        1.0,
    ]


def test_conditioning_case_by_case() -> None:
    for label in ("UNANSWERABLE", "CONVERSATIONAL"):
        expected = [1.0, 0.0, 0.0]
        assert [
            condition_on_answerability(0.3, label, verdict) for verdict in ("yes", "partly", "no")
        ] == expected
    for label in ("ANSWERABLE", "PARTIAL"):
        wanted = [0.0, 0.3, 0.3]
        assert [
            condition_on_answerability(0.3, label, verdict) for verdict in ("yes", "partly", "no")
        ] == wanted
    assert condition_on_answerability(0.3, "", "yes") == 0.3
    assert condition_on_answerability(0.3, "UNDERSPECIFIED", "no") is None


def test_a_rate_without_cases_is_left_out() -> None:
    found = overall(Labelled(("ANSWERABLE", "So.")), record(1, "So."))
    assert found["idk_accuracy"] == 1.0
    assert not {"idk_precision", "idk_recall", "idk_F1"} & found.keys()
    assert set(overall(Labelled(("", "So.")), record(1, DUNNO))) == {
        "idk",
        "idk_partly",
        "empty_answers",
    }
    assert "idk_F1" not in overall(Labelled(("UNDERSPECIFIED", "So.")), record(1, "Which one?"))


def test_a_failed_turn_is_not_idk() -> None:
    found = overall(Labelled(("UNANSWERABLE", DUNNO)), record(1, "", error="down"))
    names = "idk_recall idk_F1 idk_accuracy balanced_accuracy recall_unanswerable token_F1_idk ROUGE-L_idk"
    assert found == dict.fromkeys(names.split(), 0.0)


def test_four_decisions_with_the_auc_of_each_signal_and_a_plot() -> None:
    labels = ["ANSWERABLE", "ANSWERABLE", "PARTIAL", "UNANSWERABLE", "UNDERSPECIFIED"]
    outcomes = ["answered", "unanswerable", "partial", "unanswerable", "asked"]
    confidences = [0.9, 0.3, 0.6, 0.3, 0.5]
    records = [
        TurnRecord(
            *("c", f"c<::>{number}", "default", number, "?"),
            answer=Answer(DUNNO if outcome == "unanswerable" else "So."),
            trace={
                "generator": {
                    "decision": {"outcome": outcome, "signals": {"confidence": confidence}}
                }
            },
        )
        for number, (outcome, confidence) in enumerate(zip(outcomes, confidences, strict=True), 1)
    ]
    dataset = Labelled(*((label, "So.") for label in labels))
    assert overall(dataset, *records)["balanced_accuracy"] == pytest.approx((0.5 + 1 + 1 + 1) / 4)
    report = AnswerabilityMetrics(dataset=dataset).measure(records).report
    assert report
    assert report.numbers["table"]["ANSWERABLE"]["UNANSWERABLE"] == 1
    assert report.numbers["auc_answer"]["confidence"] == pytest.approx(2.5 / 3, abs=1e-4)
    assert report.lines[0] == "answerable: 1 answered, 1 refused"
    assert "<svg" in report.files["calibration.svg"]


def test_the_label_of_the_record_counts_first() -> None:
    found = overall(Labelled(("ANSWERABLE", "So.")), record(1, DUNNO, answerability="unanswerable"))
    assert found["idk_accuracy"] == 1.0


COURTESIES = [
    "You're welcome! I'm glad I could help. Let me know if you have any other questions.",
    "I am sorry I could not help more.",
    "I understand your concern. I'm here to help with the information provided in the documents. If you have any "
    "specific questions, please feel free to ask. I'll do my best to provide clear answers.",
    "Thank you!",
]


@pytest.mark.parametrize("answer", COURTESIES)
def test_a_courtesy_is_right_where_nothing_was_asked(answer: str) -> None:
    found = overall(Labelled(("CONVERSATIONAL", answer)), record(1, answer))
    assert (
        found["ROUGE-L_idk"],
        found["token_F1_idk"],
        found["idk_accuracy"],
        found["idk_recall"],
    ) == (1, 1, 1, 1)
    wrong = overall(
        Labelled(("UNANSWERABLE", "So."), ("ANSWERABLE", "So.")),
        record(1, "Thank you!"),
        record(2, "Thanks!"),
    )
    assert (wrong["idk_recall"], wrong["ROUGE-L_idk"]) == (0, 0)


def test_an_answer_with_a_fact_is_no_courtesy() -> None:
    text = "You're welcome! The Moon is 384,400 kilometres away."
    assert overall(Labelled(("CONVERSATIONAL", text)), record(1, text))["ROUGE-L_idk"] == 0


def test_silence_is_not_rewarded() -> None:
    labels = [("ANSWERABLE", "So.")] * 9 + [("CONVERSATIONAL", "Bye."), ("UNANSWERABLE", DUNNO)]
    found = overall(Labelled(*labels), *(record(number, " ") for number in range(1, 12)))
    assert (found["idk_accuracy"], found["empty_answers"], found["ROUGE-L_idk"]) == (0, 1, 0)
