"""`metrics=reference_free`: for data sets without judgements and reference answers."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from convrag import Dataset, Measurement, Report, TurnRecord
from convrag.sdk.lazy import Lazy
from convrag.sdk.text.answers import References, lacks_part
from convrag_metrics.grounding import GROUNDED, GroundingMetrics
from convrag_metrics.idk import detect_idk_answer

_ANSWERED = "answered"
_REMARK = (
    f"{GROUNDED} says how far answers keep to the passages that were shown, not whether these were "
    "the right passages."
)


class ReferenceFreeMetrics(GroundingMetrics):
    """Measure answers by their evidence, where a data set has neither qrels nor reference answers.

    It measures what `grounding` does, by the words in common, and `answered`: the share of turns
    with an answer that does not only say that it does not know. A data set with qrels or reference
    answers is not measured: choose `metrics=[ranking,answers,grounding]` for one.

    Args:
        dataset: the data set, with qrels and reference answers or without.
    """

    def __init__(self, *, dataset: Dataset) -> None:
        super().__init__()
        self.dataset = dataset
        self._has_truth = Lazy(partial(_has_truth, dataset))

    def list_measures(self) -> Sequence[str]:
        return (*super().list_measures(), _ANSWERED)

    def load_libraries(self) -> None:
        """Import the libraries of `grounding`, if it will measure."""
        if not self._has_truth():
            super().load_libraries()

    def explain_gap(self) -> str:
        """Say so where the data set has something better to measure by."""
        if not self._has_truth():
            return ""
        return (
            "the data set has relevance judgements or reference answers; "
            "metrics=[ranking,answers,grounding] adds it"
        )

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Measure the counts of `grounding`, and whether each turn was answered."""
        if self._has_truth():
            return {}
        grounded = super().measure(records)
        values = {}
        for record in records:
            if not lacks_part(record, "answer"):
                answered = {_ANSWERED: float(_is_answered(record))}
                values[record.turn_id] = {**grounded.get(record.turn_id, {}), **answered}
        report = Report("metrics.reference_free", (_REMARK,)) if values else None
        return Measurement(values, report=report)


def _has_truth(dataset: Dataset) -> bool:
    return bool(dataset.qrels()) or References(dataset).has_answers()


def _is_answered(record: TurnRecord) -> bool:
    return bool(record.answer.text.strip()) and detect_idk_answer(record) != "yes"
