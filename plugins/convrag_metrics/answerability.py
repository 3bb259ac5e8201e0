"""`metrics=answerability`: does the answer say that it does not know, and should it?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from convrag import Dataset, Metrics, TurnRecord
from convrag_metrics.conditioning import KNOWABLE, LABEL, UNKNOWABLE, conditioned
from convrag_metrics.overlap import bags
from convrag_metrics.rb_agg import rouge_l
from convrag_metrics.references import References
from convrag_metrics.texts import lacks, normalised, scored_text
from convrag_metrics.unknowing import answered

_TRUE, _SAID, _LABELLED, _RIGHT = "idk_true_positives", "idk_said", "idk_labelled", "idk_accuracy"


class AnswerabilityMetrics(Metrics):
    """Whether answers say that they do not know where they should: precision, recall, F1, and conditioned scores.

    An answer counts as not knowing where rules find that it says so and answers nothing besides, or where ginger found
    no nugget. What is to be found are turns labelled UNANSWERABLE or CONVERSATIONAL (as MTRAG counts them), among these
    and ANSWERABLE and PARTIAL ones. token_F1_idk and ROUGE-L_idk are conditioned as MTRAG conditions its scores: 1 for
    rightly not knowing, 0 for wrongly knowing or not knowing. Definitions are in docs/metrics.md.

    Args:
        dataset: whose label `answerability` says what can be known, and whose answers are the references.
    """

    def __init__(self, *, dataset: Dataset) -> None:
        self.references = References(dataset)

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """For each turn that was answered whether the answer knows; for labelled ones whether it should."""
        return {
            record.turn_id: values
            for record in records
            if not lacks(record, "answer") and (values := self._measured(record))
        }

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """Precision, recall and F1 of "I do not know" in place of the counts; one that has no cases is left out."""
        true, said, labelled = (means.get(name, 0.0) for name in (_TRUE, _SAID, _LABELLED))
        found = {"idk_precision": (true, said), "idk_recall": (true, labelled), "idk_F1": (2 * true, said + labelled)}
        rates = {name: part / whole for name, (part, whole) in found.items() if whole}
        return rates | {name: mean for name, mean in means.items() if name not in (_TRUE, _SAID, _LABELLED)}

    def _measured(self, record: TurnRecord) -> dict[str, float]:
        verdict = answered(record)
        unknowing, label = verdict == "yes", self.references.label(record, LABEL)
        values = {} if record.error else {"idk": float(unknowing), "idk_partly": float(verdict == "partly")}
        if label in UNKNOWABLE or label in KNOWABLE:
            positive = label in UNKNOWABLE
            values[_TRUE] = float(unknowing and positive)
            values[_SAID] = float(unknowing)
            values[_LABELLED] = float(positive)
            values[_RIGHT] = float(unknowing == positive)
            values |= self._conditioned(record, label)
        return values

    def _conditioned(self, record: TurnRecord, label: str) -> dict[str, float]:
        if not (reference := self.references.answer(record)):
            return {}
        answer, verdict = scored_text(record), answered(record)
        plain = {
            "token_F1_idk": bags(normalised(answer), normalised(reference)).f1,
            "ROUGE-L_idk": rouge_l(answer, reference),
        }
        given = {name: conditioned(value, label, verdict) for name, value in plain.items()}
        return {name: value for name, value in given.items() if value is not None}
