"""`metrics=evidence`: how good the passages are that the model sees, and how many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

from annotated_types import Interval

from convrag import LLM, Dataset, Metrics, Store, TurnRecord
from convrag.sdk.lazy import Lazy, collect_problems
from convrag.sdk.text.analysis import count_words
from convrag.sdk.text.answers import lacks_part
from convrag_metrics.alpha_ndcg import compute_alpha_ndcg
from convrag_metrics.qrels_report import find_judged_id
from convrag_metrics.subtopics import Subtopics, find_documents, read_subtopics
from convrag_metrics.trec_eval import BATCH, evaluate_rankings, parse_measure, rank_ids

_TREC = {"nDCG": "evidence_nDCG", "SetP": "evidence_precision", "SetR": "evidence_recall"}
"""Measure of trec_eval -> its name here."""

_ALPHA = "evidence_alpha_nDCG"
_COVERED = "evidence_subtopic_recall"
_PASSAGES = "evidence_passages"
_WORDS = "evidence_words"
_TOKENS = "evidence_tokens"


@dataclass(kw_only=True, eq=False)
class EvidenceMetrics(Metrics):
    """Precision, recall, nDCG, alpha-nDCG and length of the passages that the model sees.

    metrics=ranking measures the passages that were found; this measures those that were chosen of
    them (`selector`, top_n, `context`), in the order in which the model sees them, without a
    cutoff: the ideal that nDCG and alpha-nDCG compare with ranks all relevant passages. Only turns
    with qrels have these measures, as in metrics=ranking; a turn without evidence scores 0. A
    passage whose text is replaced by a hint counts: the model sees it in an earlier message.

    Args:
        dataset: has the qrels, which say which passages are relevant.
        store: where the documents of relevant passages are looked up.
        subtopics: a file of TREC's diversity judgements (turn, subtopic, passage, grade), such as
            which passage has which nugget, for alpha-nDCG and the share of subtopics covered.
            Without it, the subtopics of a turn are the documents that its relevant passages are
            from.
        alpha: how much a repeated subtopic loses in alpha-nDCG, 0 to 1. Default: as in ndeval.
        llm: counts tokens; without it, only words are counted.
    """

    libraries = ("ir-measures",)
    reads = ("ranking",)

    dataset: Dataset
    store: Store
    subtopics: Path | None = None
    alpha: Annotated[float, Interval(ge=0, le=1)] = 0.5
    llm: LLM | None = None

    def __post_init__(self) -> None:
        self._subtopics = Lazy(self._read_subtopics)

    def check(self) -> Iterator[str]:
        """Check that the file of subtopics can be read."""
        yield from collect_problems(self._subtopics)

    def list_measures(self) -> list[str]:
        """List evidence_nDCG first, and tokens if a language model counts them."""
        measures = [*_TREC.values(), _ALPHA, _COVERED, _PASSAGES, _WORDS]
        return [*measures, _TOKENS] if self.llm else measures

    def explain_gap(self) -> str:
        """Say so where there are no qrels at all."""
        return "" if self.dataset.qrels() else "the data set has no relevance judgements"

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Measure the length of each turn's evidence and, in turns with qrels, how good it is."""
        qrels = self.dataset.qrels()
        values: dict[str, dict[str, float]] = {}
        domains: dict[str, str] = {}
        for record in records:
            if not lacks_part(record, "evidence"):
                values[record.turn_id] = self._measure_length(record)
                if qrels.get(record.turn_id):
                    domains[record.turn_id] = record.domain
        subtopics = self._subtopics()
        if subtopics is None:
            subtopics = find_documents(self.dataset, self.store, domains.items(), qrels)
        judged = (record for record in records if record.turn_id in domains)
        while batch := {
            record.turn_id: _list_judged_ids(record, qrels[record.turn_id])
            for record in islice(judged, BATCH)
        }:
            for turn_id, found in self._score(batch, qrels, subtopics).items():
                values[turn_id] = {**found, **values[turn_id]}
        return values

    def _read_subtopics(self) -> Subtopics | None:
        return read_subtopics(self.subtopics) if self.subtopics else None

    def _measure_length(self, record: TurnRecord) -> dict[str, float]:
        texts = [item.text for item in record.evidence.items]
        lengths = {
            _PASSAGES: float(len(_list_ids(record))),
            _WORDS: float(sum(map(count_words, texts))),
        }
        if self.llm:
            lengths[_TOKENS] = float(sum(map(self.llm.count_tokens, texts)))
        return lengths

    def _score(
        self,
        batch: Mapping[str, list[str]],
        qrels: Mapping[str, Mapping[str, int]],
        subtopics: Subtopics,
    ) -> dict[str, dict[str, float]]:
        """Score turns with qrels, turn -> measure -> value.

        Args:
            batch: turn id -> the ids of its evidence, in order.
            qrels: turn id -> passage id -> grade.
            subtopics: turn id -> passage id -> its subtopics.
        """
        measures = [parse_measure(name) for name in _TREC]
        judged = {turn_id: dict(qrels[turn_id]) for turn_id in batch}
        run = {turn_id: rank_ids(ids) for turn_id, ids in batch.items()}
        values = {}
        for turn_id, found in evaluate_rankings(measures, judged, run).items():
            values[turn_id] = {name: found[measure] for measure, name in _TREC.items()}
            relevant = subtopics.get(turn_id)
            if relevant:
                ranking = [relevant.get(name, ()) for name in batch[turn_id]]
                values[turn_id][_ALPHA] = compute_alpha_ndcg(
                    ranking, list(relevant.values()), self.alpha
                )
                every = {subtopic for of_passage in relevant.values() for subtopic in of_passage}
                covered = {subtopic for of_passage in ranking for subtopic in of_passage}
                values[turn_id][_COVERED] = len(covered) / len(every)
        return values


def _list_ids(record: TurnRecord) -> list[str]:
    """List the ids of the passages in the evidence, each once, in the model's order."""
    return list(dict.fromkeys(item.passage.id for item in record.evidence.items))


def _list_judged_ids(record: TurnRecord, grades: Mapping[str, int]) -> list[str]:
    """List the ids under which the passages in the evidence are judged, each once, in order."""
    names = (find_judged_id(item.passage, grades) for item in record.evidence.items)
    return list(dict.fromkeys(names))
