"""`metrics=reference_free`: what can be measured where the data set has no judgements and no reference answers."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from convrag import Dataset, Measurement, Metrics, Report, TurnRecord
from convrag.sdk.answers import References, lacks_part
from convrag.sdk.lazy import Lazy
from convrag_metrics.grounding import GROUNDED, GroundingMetrics
from convrag_metrics.idk import detect_idk_answer

_ANSWERED = "answered"
_MEANING = (
    f"{GROUNDED} says how far answers keep to the passages that were shown, not whether these were the right passages."
)


class ReferenceFreeMetrics(Metrics):
    """Measure answers by their evidence alone, where the data set has neither qrels nor reference answers.

    It measures what `grounding` does, by the words in common, and `answered`: the share of turns with an answer that
    does not only say that it does not know. A data set with qrels or reference answers is not measured: choose
    `metrics=[ranking,answers,grounding]` for one.

    Args:
        dataset: which has qrels and reference answers, or not.
    """

    reads = ("answer",)

    def __init__(self, *, dataset: Dataset) -> None:
        self.dataset = dataset
        self.grounding = GroundingMetrics()
        self._has_truth = Lazy(partial(_has_truth, dataset))

    def list_measures(self) -> Sequence[str]:
        return (*self.grounding.list_measures(), _ANSWERED)

    def load_libraries(self) -> None:
        """Import those of `grounding`, where it will measure."""
        if not self._has_truth():
            self.grounding.load_libraries()

    def explain_gap(self) -> str:
        """Whether the data set has something better to measure by."""
        if not self._has_truth():
            return ""
        return "the data set has relevance judgements or reference answers; metrics=[ranking,answers,grounding] adds it"

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """The counts of `grounding` for each turn with an answer, and whether the turn was answered."""
        if self._has_truth():
            return {}
        answered = {
            record.turn_id: {_ANSWERED: _is_answered(record)} for record in records if not lacks_part(record, "answer")
        }
        grounded = self.grounding.measure(records)
        values = {turn_id: {**grounded.get(turn_id, {}), **values} for turn_id, values in answered.items()}
        return Measurement(values, report=Report("metrics.reference_free", (_MEANING,)) if values else None)

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """The shares of `grounding` in place of its counts."""
        return self.grounding.conclude(means)


def _has_truth(dataset: Dataset) -> bool:
    return bool(dataset.qrels()) or References(dataset).has_answers()


def _is_answered(record: TurnRecord) -> float:
    return float(bool(record.answer.text.strip()) and detect_idk_answer(record) != "yes")
