"""`metrics=evidence`: how good the passages are that the model sees, and how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log2
from pathlib import Path
from typing import Annotated

from annotated_types import Interval

from convrag import LLM, DataError, Dataset, Metrics, Passage, Store, TurnRecord
from convrag.sdk.data.jsonl import read_lines
from convrag.sdk.data.trec import decode_id, split_columns
from convrag.sdk.lazy import Lazy, collect_problems
from convrag.sdk.search.corpus import open_passages
from convrag.sdk.text.answers import lacks_part
from convrag_metrics.trec_eval import BATCH, evaluate_rankings, parse_measure, rank_ids

_TREC = {"nDCG": "evidence_nDCG", "SetP": "evidence_precision", "SetR": "evidence_recall"}
_ALPHA = "evidence_alpha_nDCG"
_COVERED = "evidence_subtopic_recall"
_COUNTS = ("evidence_passages", "evidence_words")
_TOKENS = "evidence_tokens"


@dataclass(kw_only=True, eq=False)
class EvidenceMetrics(Metrics):
    """Precision, recall, nDCG and alpha-nDCG of the passages that the model sees, and how long they are.

    Where metrics=ranking measures what was found, this measures what was chosen of it (`selector`,
    top_n, `context`), in the order in which the model sees it, without a cutoff: the ideal that
    nDCG and alpha-nDCG compare with ranks all relevant passages. Only turns with qrels have these
    measures, as in metrics=ranking; a turn without evidence scores
    0. A passage whose text is replaced by a hint counts: the model sees it in an earlier message.

    Args:
        dataset: whose qrels say which passages are relevant.
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
        self._given = Lazy(lambda: read_subtopics(self.subtopics) if self.subtopics else None)

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
        judged = [
            (each.turn_id, each.domain)
            for each in records
            if each.turn_id in values and qrels.get(each.turn_id)
        ]
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
        return lengths | (
            {_TOKENS: float(sum(map(self.llm.count_tokens, texts)))} if self.llm else {}
        )

    def _score(
        self,
        batch: Mapping[str, list[str]],
        qrels: Mapping[str, Mapping[str, int]],
        subtopics: Subtopics,
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
                values[turn_id][_ALPHA] = compute_alpha_ndcg(
                    ranking, list(wanted.values()), self.alpha
                )
                every = {subtopic for each in wanted.values() for subtopic in each}
                covered = {subtopic for each in ranking for subtopic in each}
                values[turn_id][_COVERED] = len(covered) / len(every)
        return values


def _list_ids(record: TurnRecord) -> list[str]:
    """The ids of the passages in the evidence, each once, in the order in which the model sees
    them.
    """
    return list(dict.fromkeys(item.passage.id for item in record.evidence.items))


Subtopics = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Turn id -> id of a relevant passage -> its subtopics."""

_COLUMNS = 4


def read_subtopics(path: Path) -> Subtopics:
    """Read judgements of TREC's diversity tasks: turn, subtopic (a nugget, say), passage, grade.

    They stand between tabs or blanks. A passage has a subtopic where its grade is above 0. Raises
    DataError.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for line in read_lines(path):
        row = split_columns(line.text)
        if len(row) != _COLUMNS or not all(row):
            raise line.error(
                f"there must be {_COLUMNS} columns (turn, subtopic, passage, grade), not {len(row)}"
            )
        turn, subtopic, passage, grade = map(decode_id, row)
        if not grade.removeprefix("-").isdecimal():
            raise line.error(f"the grade must be an integer, not {grade!r}")
        subtopics = found.setdefault(turn, {})
        if int(grade) > 0 and subtopic not in subtopics.setdefault(passage, []):
            subtopics[passage].append(subtopic)
    if not found:
        raise DataError("this file holds no judgements", path=path)
    return {
        turn: {passage: tuple(subtopics) for passage, subtopics in passages.items() if subtopics}
        for turn, passages in found.items()
    }


def find_documents(
    dataset: Dataset,
    store: Store,
    turns: Iterable[tuple[str, str]],
    qrels: Mapping[str, Mapping[str, int]],
) -> Subtopics:
    """Find the document of each relevant passage: it is the passage's only subtopic.

    A passage that the corpus does not have is a document of its own.

    Args:
        dataset: has the corpora.
        store: where the passages are looked up.
        turns: (turn id, domain) of the turns.
        qrels: turn id -> passage id -> grade; a passage of grade 1 or more is relevant.
    """
    relevant: dict[str, dict[str, list[str]]] = {}
    for turn_id, domain in turns:
        relevant.setdefault(domain, {})[turn_id] = [
            id_ for id_, grade in qrels[turn_id].items() if grade > 0
        ]
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for domain, ids_by_turn in relevant.items():
        corpus = open_passages(dataset, domain, store)
        ids = dict.fromkeys(id_ for ids in ids_by_turn.values() for id_ in ids)
        names = (
            {passage.id: name_document(passage) for passage in corpus.get_by_id(list(ids))}
            if corpus
            else {}
        )
        found |= {
            turn: {id_: (names.get(id_, id_),) for id_ in ids} for turn, ids in ids_by_turn.items()
        }
    return found


def name_document(passage: Passage) -> str:
    """Name the document that a passage is from: `metadata["document"]`, else its address, its
    title, or its own id.
    """
    document = passage.metadata.get("document")
    address = passage.url if "://" in passage.url else ""
    return str(document) if document else address or passage.title or passage.id


def compute_alpha_ndcg(
    ranking: Sequence[Collection[str]], relevant: Sequence[Collection[str]], alpha: float = 0.5
) -> float:
    """Compute alpha-nDCG of a whole ranking (Clarke et al., SIGIR 2008), from 0 to 1.

    A passage gains (1 - alpha) ^ (how many earlier passages have it) for each of its subtopics;
    gains are discounted by log2(1 + rank). The sum is divided by the ideal ranking's of all
    relevant passages, found greedily, as ndeval does. Nothing relevant gives 0.

    Args:
        ranking: the subtopics of each passage of the ranking, best first; none for one that is not
            relevant.
        relevant: the subtopics of each relevant passage.
        alpha: how much a repetition loses; 0 nothing, 1 everything.
    """
    ideal = _sum_gains(_rank_ideally(relevant, alpha), alpha)
    return _sum_gains(ranking, alpha) / ideal if ideal else 0.0


def _sum_gains(ranking: Sequence[Collection[str]], alpha: float) -> float:
    seen: Counter[str] = Counter()
    total = 0.0
    for rank, subtopics in enumerate(ranking, 1):
        total += _gain(subtopics, seen, alpha) / log2(rank + 1)
        seen.update(subtopics)
    return total


def _rank_ideally(relevant: Sequence[Collection[str]], alpha: float) -> list[Collection[str]]:
    """The passage with the greatest gain first, of equal ones the first, and so on."""
    seen: Counter[str] = Counter()
    left, ranked = list(relevant), list[Collection[str]]()
    while left:
        best = max(left, key=lambda subtopics: _gain(subtopics, seen, alpha))
        left.remove(best)
        ranked.append(best)
        seen.update(best)
    return ranked


def _gain(subtopics: Collection[str], seen: Counter[str], alpha: float) -> float:
    return sum((1 - alpha) ** seen[subtopic] for subtopic in subtopics)
