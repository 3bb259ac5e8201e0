"""`metrics=answerability`: does the answer say that it does not know, and should it?"""

from collections.abc import Iterable, Mapping, Sequence

from convrag import Dataset, Measurement, Metrics, TurnRecord
from convrag.sdk.text.answers import References, lacks_part, prepare_answer
from convrag_metrics.answerability_labels import (
    ANSWERABILITY,
    ANSWERABLE,
    UNANSWERABLE,
    condition_on_answerability,
    withholds_answer,
)
from convrag_metrics.decision_report import OUTCOMES, Decision, read_decision, report_decisions
from convrag_metrics.idk import Idk, detect_idk_answer, is_called_unanswerable
from convrag_metrics.token_overlap import measure_rouge_l, measure_token_f1

_TRUE_POSITIVES = "idk_true_positives"
_PREDICTED = "idk_said"
_LABELLED = "idk_labelled"
_COUNTS = (_TRUE_POSITIVES, _PREDICTED, _LABELLED)

_RECALLS = {label: f"recall_{label.lower()}" for label in OUTCOMES}

_MEASURES = (
    "idk_F1",
    "idk_precision",
    "idk_recall",
    "idk",
    "idk_partly",
    "empty_answers",
    "idk_accuracy",
    "balanced_accuracy",
    *_RECALLS.values(),
    "token_F1_idk",
    "ROUGE-L_idk",
)


class AnswerabilityMetrics(Metrics):
    """Whether answers say that they do not know where they should: precision, recall and F1.

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
        dataset: has the label `answerability`, which says which questions can be answered, and the
            reference answers.
    """

    libraries = ("rapidfuzz",)
    reads = ("answer",)

    def __init__(self, *, dataset: Dataset) -> None:
        self.references = References(dataset)

    def list_measures(self) -> Sequence[str]:
        return _MEASURES

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Measure whether each answer is "I do not know", and whether labelled ones should be."""
        values: dict[str, dict[str, float]] = {}
        decisions: list[Decision] = []
        for record in records:
            if lacks_part(record, "answer"):
                continue
            found = self._measure_turn(record)
            if not found:
                continue
            values[record.turn_id] = found
            label = self.references.find_label(record, ANSWERABILITY)
            if label in OUTCOMES:
                decisions.append(read_decision(label, record))
        return Measurement(values, report=report_decisions(decisions) if decisions else None)

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """Conclude precision, recall and F1 from the counts; a rate without cases is left out."""
        true = means.get(_TRUE_POSITIVES, 0.0)
        predicted = means.get(_PREDICTED, 0.0)
        labelled = means.get(_LABELLED, 0.0)
        rates = {}
        if predicted:
            rates["idk_precision"] = true / predicted
        if labelled:
            rates["idk_recall"] = true / labelled
        if predicted + labelled:
            rates["idk_F1"] = 2 * true / (predicted + labelled)
        recalls = [means[name] for name in _RECALLS.values() if name in means]
        if recalls:
            rates["balanced_accuracy"] = sum(recalls) / len(recalls)
        return rates | {name: mean for name, mean in means.items() if name not in _COUNTS}

    def _measure_turn(self, record: TurnRecord) -> dict[str, float]:
        is_empty = not prepare_answer(record)
        label = self.references.find_label(record, ANSWERABILITY)
        idk: Idk = "no"
        if not is_empty or is_called_unanswerable(record):
            idk = detect_idk_answer(record)
        values = {}
        if not record.error:
            values["idk"] = float(idk == "yes")
            values["idk_partly"] = float(idk == "partly")
            values["empty_answers"] = float(is_empty)
        if label in UNANSWERABLE or label in ANSWERABLE:
            is_predicted = withholds_answer(label, idk)
            is_labelled = label in UNANSWERABLE
            values[_TRUE_POSITIVES] = float(is_predicted and is_labelled)
            values[_PREDICTED] = float(is_predicted)
            values[_LABELLED] = float(is_labelled)
            values["idk_accuracy"] = float(is_predicted == is_labelled and not is_empty)
            values |= self._condition_scores(record, label, idk)
        if label in OUTCOMES:
            is_right = read_decision(label, record).outcome == label
            values[_RECALLS[label]] = float(is_right and not is_empty)
        return values

    def _condition_scores(self, record: TurnRecord, label: str, idk: Idk) -> dict[str, float]:
        """Score an answer against the reference, conditioned on answerability."""
        reference = self.references.find_answer(record)
        if not reference:
            return {}
        answer = prepare_answer(record)
        scores = {
            "token_F1_idk": measure_token_f1(answer, reference),
            "ROUGE-L_idk": measure_rouge_l(answer, reference),
        }
        conditioned = {}
        for name, score in scores.items():
            value = condition_on_answerability(score, label, idk)
            if value is not None:
                conditioned[name] = value
        return conditioned
