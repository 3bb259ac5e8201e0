"""`metrics=ranking`: how well the passages were ranked, by the data set's qrels."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice

from convrag import ConfigError, Dataset, Measurement, Metrics, Store, TurnRecord
from convrag.sdk.text.answers import lacks_part
from convrag_metrics.qrels_report import (
    find_judged_id,
    fold_passage,
    report_absent_passages,
    report_unjudged_passages,
)
from convrag_metrics.trec_eval import BATCH, evaluate_rankings, parse_measure, rank_ids

_MEASURES = ["R@1", "R@3", "R@5", "R@10", "nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10"]
_MAIN = "nDCG@5"


class RankingMetrics(Metrics):
    """Recall, nDCG and the other ranking measures of trec_eval, through ir-measures.

    Only turns with qrels are measured, as MTRAG does. Of those, a turn that found nothing scores 0.
    The ranking is the order of the hits, whatever their scores. Where a document of the corpus is
    judged in place of its passages, the best of them counts. The summary says how many
    judgements name passages that the corpus does not have, and warns of a run in which no passage
    is judged.

    Args:
        dataset: has the qrels, which say which passages are relevant.
        store: where the corpus is looked up.
        measures: names as ir-measures writes them ("nDCG@5", "R@10", "RR", "AP"); MTRAG reports the
            defaults.
        documents: whether the qrels judge documents, as in TREC CAsT 2021: a passage
            "MARCO_D59865-7" then stands for the document "MARCO_D59865", and of several passages of
            a document the best one counts.
    """

    libraries = ("ir-measures",)
    reads = ("ranking",)

    def __init__(
        self,
        *,
        dataset: Dataset,
        store: Store,
        measures: list[str] = _MEASURES,
        documents: bool = False,
    ) -> None:
        self.dataset = dataset
        self.store = store
        self.measures = list(measures)
        self.documents = documents

    def check(self) -> Iterator[str]:
        """Check that trec_eval has the measures."""
        for name in self.measures:
            try:
                parse_measure(name)
            except ConfigError as error:
                yield str(error)

    def list_measures(self) -> list[str]:
        """List the chosen measures, nDCG@5 first if it is among them."""
        names = [str(parse_measure(name)) for name in self.measures]
        return sorted(names, key=lambda name: name != _MAIN)

    def explain_gap(self) -> str:
        """Say so where there are no qrels at all."""
        if self.dataset.qrels():
            return ""
        return (
            "the data set has no relevance judgements; task=questions writes some from its passages"
        )

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Measure each turn with qrels, and report on ids that do not match."""
        measures = [parse_measure(name) for name in self.measures]
        qrels = self.dataset.qrels()
        judged = {passage_id for grades in qrels.values() for passage_id in grades}

        def list_measured() -> Iterator[TurnRecord]:
            return (record for record in records if _is_measured(record, qrels))

        values: dict[str, dict[str, float]] = {}
        remaining = list_measured()
        # records are not kept, because they are large
        while rankings := {
            record.turn_id: rank_ids(self._list_ids(record, qrels[record.turn_id], judged))
            for record in islice(remaining, BATCH)
        }:
            grades = {turn_id: dict(qrels[turn_id]) for turn_id in rankings}
            values |= evaluate_rankings(measures, grades, rankings)

        found = (
            name
            for record in list_measured()
            for name in self._list_ids(record, qrels[record.turn_id], judged)
        )
        report = report_unjudged_passages(found, judged)
        if report is None and not self.documents:
            report = report_absent_passages(self.dataset, self.store, list_measured(), qrels)
        return Measurement(values, report=report)

    def _list_ids(
        self, record: TurnRecord, grades: Mapping[str, int], judged: Collection[str]
    ) -> Iterator[str]:
        """Yield the ids that are looked up in the qrels, best first.

        Args:
            record: the turn.
            grades: of the turn.
            judged: the ids of all qrels.
        """
        for hit in record.hits:
            name = find_judged_id(hit.passage, grades)
            yield fold_passage(name, judged) if self.documents else name


def _is_measured(record: TurnRecord, qrels: Mapping[str, Mapping[str, int]]) -> bool:
    return bool(qrels.get(record.turn_id)) and not lacks_part(record, "ranking")
