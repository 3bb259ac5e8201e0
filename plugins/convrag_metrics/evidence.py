"""`metrics=evidence`: how good the passages are that the model sees, and how many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from convrag import LLM, ConfigError, Dataset, Metrics, Store, TurnRecord
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_metrics.alpha_ndcg import compute_alpha_ndcg
from convrag_metrics.record_texts import lacks_part
from convrag_metrics.subtopics import Subtopics, find_documents, read_subtopics
from convrag_metrics.trec_eval import BATCH, evaluate_rankings, parse_measure, rank_ids

_TREC = {"nDCG": "evidence_nDCG", "SetP": "evidence_precision", "SetR": "evidence_recall"}
_ALPHA = "evidence_alpha_nDCG"
_COVERED = "evidence_subtopic_recall"
_COUNTS = ("evidence_passages", "evidence_words")
_TOKENS = "evidence_tokens"


class EvidenceMetrics(Metrics):
    """Precision, recall, nDCG and alpha-nDCG of the passages that the model sees, and how long they are.

    Where metrics=ranking measures what was found, this measures what was chosen of it (`selector`, top_n, `context`),
    in the order in which the model sees it, without a cutoff: the ideal that nDCG and alpha-nDCG compare with ranks all
    relevant passages. Only turns with qrels have these measures, as in metrics=ranking; a turn without evidence scores
    0. A passage whose text is replaced by a hint counts: the model sees it in an earlier message.

    Args:
        dataset: whose qrels say which passages are relevant.
        store: where the documents of relevant passages are looked up.
        subtopics: a file of TREC's diversity judgements (turn, subtopic, passage, grade), such as which passage has
            which nugget, for alpha-nDCG and the share of subtopics covered. Without it, the subtopics of a turn are the
            documents that its relevant passages are from.
        alpha: how much a repeated subtopic loses in alpha-nDCG, 0 to 1. Default: as in ndeval.
        llm: counts tokens; without it, only words are counted.

    Raises:
        ConfigError: alpha is out of range.
    """

    libraries = ("ir-measures",)
    reads = ("ranking",)

    def __init__(
        self,
        *,
        dataset: Dataset,
        store: Store,
        subtopics: Path | None = None,
        alpha: float = 0.5,
        llm: LLM | None = None,
    ) -> None:
        if not 0 <= alpha <= 1:
            raise ConfigError(f"metrics.evidence.alpha={alpha}: between 0 (repetitions lose nothing) and 1")
        self.dataset = dataset
        self.store = store
        self.subtopics = subtopics
        self.alpha = alpha
        self.llm = llm
        self._given = Lazy(lambda: read_subtopics(subtopics) if subtopics else None)

    def check(self) -> Iterator[str]:
        """Whether the file of subtopics can be read."""
        yield from collect_problems(self._given)

    def list_measures(self) -> list[str]:
        """evidence_nDCG first; tokens where there is a language model that counts them."""
        return [*_TREC.values(), _ALPHA, _COVERED, *_COUNTS, *([_TOKENS] if self.llm else [])]

    def explain_gap(self) -> str:
        """Whether there are qrels at all."""
        return "" if self.dataset.qrels() else "the data set has no relevance judgements"

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """The lengths of the evidence of each turn; for turns with qrels, how good it is."""
        qrels = self.dataset.qrels()
        shown = (record for record in records if not lacks_part(record, "evidence"))
        values = {record.turn_id: self._measure_length(record) for record in shown}
        judged = [(each.turn_id, each.domain) for each in records if each.turn_id in values and qrels.get(each.turn_id)]
        subtopics = self._given() or find_documents(self.dataset, self.store, judged, qrels)
        turn_ids = {turn_id for turn_id, _ in judged}
        scored = (record for record in records if record.turn_id in turn_ids)
        while batch := {record.turn_id: _list_ids(record) for record in islice(scored, BATCH)}:
            for turn_id, found in self._score(batch, qrels, subtopics).items():
                values[turn_id] = {**found, **values[turn_id]}
        return values

    def _measure_length(self, record: TurnRecord) -> dict[str, float]:
        texts = [item.text for item in record.evidence.items]
        lengths = {
            "evidence_passages": float(len(_list_ids(record))),
            "evidence_words": float(sum(len(text.split()) for text in texts)),
        }
        return lengths | ({_TOKENS: float(sum(map(self.llm.count_tokens, texts)))} if self.llm else {})

    def _score(
        self, batch: Mapping[str, list[str]], qrels: Mapping[str, Mapping[str, int]], subtopics: Subtopics
    ) -> dict[str, dict[str, float]]:
        """Turn -> measure -> value, for turns with qrels and the ids of their evidence."""
        measures = [parse_measure(name) for name in _TREC]
        judged = {turn_id: dict(qrels[turn_id]) for turn_id in batch}
        run = {turn_id: rank_ids(ids) for turn_id, ids in batch.items()}
        values = {}
        for turn_id, found in evaluate_rankings(measures, judged, run).items():
            values[turn_id] = {name: found[measure] for measure, name in _TREC.items()}
            if wanted := subtopics.get(turn_id):
                ranking = [wanted.get(id_, ()) for id_ in batch[turn_id]]
                values[turn_id][_ALPHA] = compute_alpha_ndcg(ranking, list(wanted.values()), self.alpha)
                every = {subtopic for each in wanted.values() for subtopic in each}
                covered = {subtopic for each in ranking for subtopic in each}
                values[turn_id][_COVERED] = len(covered) / len(every)
        return values


def _list_ids(record: TurnRecord) -> list[str]:
    """The ids of the passages in the evidence, each once, in the order in which the model sees them."""
    return list(dict.fromkeys(item.passage.id for item in record.evidence.items))
