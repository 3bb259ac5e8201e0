"""`metrics=ranking`: how well the passages were ranked, by the data set's qrels."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice

from convrag import ConfigError, Dataset, Measurement, Metrics, Store, TurnRecord
from convrag.sdk.text.answers import lacks_part
from convrag_metrics.trec_eval import (
    BATCH,
    evaluate_rankings,
    fold_passage,
    parse_measure,
    rank_ids,
    report_absent_passages,
    report_unjudged_passages,
)

_MEASURES = ["R@1", "R@3", "R@5", "R@10", "nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10"]
_MAIN = "nDCG@5"


class RankingMetrics(Metrics):
    """Recall, nDCG and the other ranking measures of trec_eval, through ir-measures.

    Only turns with qrels are measured, as MTRAG does. Of those, a turn that found nothing scores 0.
    The ranking is the order of the hits, whatever their scores. The summary says how many
    judgements name passages that the corpus does not have, and warns of a run in which no passage
    is judged.

    Args:
        dataset: whose qrels say which passages are relevant.
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
        """Whether trec_eval has the measures."""
        for name in self.measures:
            try:
                parse_measure(name)
            except ConfigError as error:
                yield str(error)

    def list_measures(self) -> list[str]:
        """Those that were asked for, nDCG@5 first where it is among them."""
        return sorted(
            (str(parse_measure(name)) for name in self.measures), key=lambda name: name != _MAIN
        )

    def explain_gap(self) -> str:
        """Whether there are qrels at all."""
        if self.dataset.qrels():
            return ""
        return (
            "the data set has no relevance judgements; task=questions writes some from its passages"
        )

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """The values of each turn with qrels, and a report on ids that do not match."""
        measures = [parse_measure(name) for name in self.measures]
        qrels = self.dataset.qrels()
        judged = {name for grades in qrels.values() for name in grades}
        scored = (record for record in records if _is_measured(record, qrels))
        values: dict[str, dict[str, float]] = {}
        while batch := {
            record.turn_id: rank_ids(self._list_ids(record, judged))
            for record in islice(scored, BATCH)
        }:
            values |= evaluate_rankings(
                measures, {turn_id: dict(qrels[turn_id]) for turn_id in batch}, batch
            )
        names = (
            name
            for each in records
            if _is_measured(each, qrels)
            for name in self._list_ids(each, judged)
        )
        report = report_unjudged_passages(names, judged)
        if report is None and not self.documents:
            measured = (record for record in records if _is_measured(record, qrels))
            report = report_absent_passages(self.dataset, self.store, measured, qrels)
        return Measurement(values, report=report)

    def _list_ids(self, record: TurnRecord, judged: Collection[str]) -> Iterator[str]:
        """The ids that are looked up in the qrels, best first."""
        for hit in record.hits:
            yield fold_passage(hit.passage.id, judged) if self.documents else hit.passage.id


def _is_measured(record: TurnRecord, qrels: Mapping[str, Mapping[str, int]]) -> bool:
    return bool(qrels.get(record.turn_id)) and not lacks_part(record, "ranking")
