"""`metrics=reference_free`: what can be measured where the data set has no judgements and no
reference answers.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from convrag import Dataset, Measurement, Report, TurnRecord
from convrag.sdk.lazy import Lazy
from convrag.sdk.text.answers import References, lacks_part
from convrag_metrics.grounding import GROUNDED, GroundingMetrics
from convrag_metrics.idk import detect_idk_answer

_ANSWERED = "answered"
_MEANING = f"{GROUNDED} says how far answers keep to the passages that were shown, not whether these were the right passages."


class ReferenceFreeMetrics(GroundingMetrics):
    """Measure answers by their evidence alone, where the data set has neither qrels nor reference answers.

    It measures what `grounding` does, by the words in common, and `answered`: the share of turns
    with an answer that does not only say that it does not know. A data set with qrels or reference
    answers is not measured: choose `metrics=[ranking,answers,grounding]` for one.

    Args:
        dataset: which has qrels and reference answers, or not.
    """

    def __init__(self, *, dataset: Dataset) -> None:
        super().__init__()
        self.dataset = dataset
        self._has_truth = Lazy(partial(_has_truth, dataset))

    def list_measures(self) -> Sequence[str]:
        return (*super().list_measures(), _ANSWERED)

    def load_libraries(self) -> None:
        """Import those of `grounding`, where it will measure."""
        if not self._has_truth():
            super().load_libraries()

    def explain_gap(self) -> str:
        """Whether the data set has something better to measure by."""
        if not self._has_truth():
            return ""
        return "the data set has relevance judgements or reference answers; metrics=[ranking,answers,grounding] adds it"

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """The counts of `grounding` for each turn with an answer, and whether the turn was
        answered.
        """
        if self._has_truth():
            return {}
        answered = {
            record.turn_id: {_ANSWERED: _is_answered(record)}
            for record in records
            if not lacks_part(record, "answer")
        }
        grounded = super().measure(records)
        values = {
            turn_id: {**grounded.get(turn_id, {}), **values} for turn_id, values in answered.items()
        }
        return Measurement(
            values, report=Report("metrics.reference_free", (_MEANING,)) if values else None
        )


def _has_truth(dataset: Dataset) -> bool:
    return bool(dataset.qrels()) or References(dataset).has_answers()


def _is_answered(record: TurnRecord) -> float:
    return float(bool(record.answer.text.strip()) and detect_idk_answer(record) != "yes")
