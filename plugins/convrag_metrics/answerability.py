"""`metrics=answerability`: does the answer say that it does not know, and should it?"""

from collections.abc import Iterable, Mapping, Sequence

from convrag import Dataset, Measurement, Metrics, TurnRecord
from convrag.sdk.text.answers import References, lacks_part, prepare_answer
from convrag_metrics.decisions import SAID, Treatment, report_decisions
from convrag_metrics.idk import (
    ANSWERABILITY,
    ANSWERABLE,
    UNANSWERABLE,
    Idk,
    condition_on_answerability,
    detect_idk_answer,
    is_called_unanswerable,
    withholds_answer,
)
from convrag_metrics.token_overlap import measure_rouge_l, measure_token_f1

_TRUE_POSITIVES, _PREDICTED, _LABELLED = _COUNTS = (
    "idk_true_positives",
    "idk_said",
    "idk_labelled",
)

_RECALLS = {label: f"recall_{label.lower()}" for label in SAID}

_MEASURES = (
    *(
        "idk_F1",
        "idk_precision",
        "idk_recall",
        "idk",
        "idk_partly",
        "empty_answers",
        "idk_accuracy",
    ),
    *("balanced_accuracy", *_RECALLS.values(), "token_F1_idk", "ROUGE-L_idk"),
)


class AnswerabilityMetrics(Metrics):
    """Whether answers say that they do not know where they should: precision, recall, F1, and conditioned scores.

    An answer counts as "I do not know" where rules find that it says so and answers nothing else,
    or where ginger found no nugget. It is right for turns labelled UNANSWERABLE or CONVERSATIONAL
    (as in MTRAG), and wrong for ANSWERABLE and PARTIAL ones; other turns are not counted. A
    courtesy ("You're welcome!") is as good for CONVERSATIONAL ones. An empty answer is never right;
    empty_answers is their share. token_F1_idk and ROUGE-L_idk are conditioned as MTRAG conditions
    its scores: 1 where "I do not know" is right, 0 where it is wrong or missing. balanced_accuracy
    is the mean of four recalls: answered, in part, refused, asked back (UNDERSPECIFIED, as in
    MTRAG-UN). The report has their table, the AUC of each signal and a calibration plot.
    Definitions are in docs/metrics.md.

    Args:
        dataset: whose label `answerability` says which questions can be answered, and whose answers
            are the references.
    """

    libraries = ("rapidfuzz",)
    reads = ("answer",)

    def __init__(self, *, dataset: Dataset) -> None:
        self.references = References(dataset)

    def list_measures(self) -> Sequence[str]:
        return _MEASURES

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """For each turn with an answer whether it is "I do not know"; for labelled turns whether it
        should be.
        """
        values, turns = dict[str, dict[str, float]](), list[Treatment]()
        for record in records:
            if not lacks_part(record, "answer") and (found := self._measure_turn(record)):
                values[record.turn_id] = found
                if (label := self.references.find_label(record, ANSWERABILITY)) in SAID:
                    turns.append(Treatment.of(label, record))
        return Measurement(values, report=report_decisions(turns) if turns else None)

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """Precision, recall and F1 of "I do not know" in place of the counts; a rate without cases
        is left out.
        """
        true, predicted, labelled = (means.get(name, 0.0) for name in _COUNTS)
        ratios = {
            "idk_precision": (true, predicted),
            "idk_recall": (true, labelled),
            "idk_F1": (2 * true, predicted + labelled),
        }
        rates = {name: part / whole for name, (part, whole) in ratios.items() if whole}
        if recalls := [means[name] for name in _RECALLS.values() if name in means]:
            rates["balanced_accuracy"] = sum(recalls) / len(recalls)
        return rates | {name: mean for name, mean in means.items() if name not in _COUNTS}

    def _measure_turn(self, record: TurnRecord) -> dict[str, float]:
        empty, label = not prepare_answer(record), self.references.find_label(record, ANSWERABILITY)
        idk: Idk = (
            "no" if empty and not is_called_unanswerable(record) else detect_idk_answer(record)
        )
        values = {}
        if not record.error:
            values = {
                "idk": float(idk == "yes"),
                "idk_partly": float(idk == "partly"),
                "empty_answers": float(empty),
            }
        if label in UNANSWERABLE or label in ANSWERABLE:
            predicted, labelled = withholds_answer(label, idk), label in UNANSWERABLE
            values[_TRUE_POSITIVES] = float(predicted and labelled)
            values[_PREDICTED] = float(predicted)
            values[_LABELLED] = float(labelled)
            values["idk_accuracy"] = float(predicted == labelled and not empty)
            values |= self._condition_scores(record, label, idk)
        if label in SAID:
            values[_RECALLS[label]] = float(Treatment.of(label, record).said == label and not empty)
        return values

    def _condition_scores(self, record: TurnRecord, label: str, idk: Idk) -> dict[str, float]:
        if not (reference := self.references.find_answer(record)):
            return {}
        answer = prepare_answer(record)
        scores = {
            "token_F1_idk": measure_token_f1(answer, reference),
            "ROUGE-L_idk": measure_rouge_l(answer, reference),
        }
        conditioned = {
            name: condition_on_answerability(score, label, idk) for name, score in scores.items()
        }
        return {name: score for name, score in conditioned.items() if score is not None}
