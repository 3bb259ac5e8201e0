"""What the data set says of a turn: labels, the reference answer, and the relevant passages with their texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from convrag.api.records import TurnRecord
from convrag.api.stages import Dataset
from convrag.api.types import Passage, Turn
from convrag.sdk.corpus import Corpus
from convrag.store.store import Store

Qrels = Mapping[str, Mapping[str, int]]
"""Turn id -> passage id -> grade of relevance."""


def add_truth(record: TurnRecord, turn: Turn, qrels: Qrels) -> TurnRecord:
    """Return the record with the labels, the reference answer and the relevant passages of its turn."""
    return replace(record, labels=turn.labels, reference=turn.answer.strip(), gold=dict(qrels.get(turn.id, {})))


def add_truths(records: Iterable[TurnRecord], dataset: Dataset) -> list[TurnRecord]:
    """Return records of finished turns with the reference answers and relevant passages of their turns.

    They keep their labels. A turn that the data set does not have keeps all that its record says.
    """
    turns = {turn.id: turn for each in dataset.conversations() for turn in each.turns}
    qrels = dataset.qrels()
    return [
        replace(add_truth(record, turns[record.turn_id], qrels), labels=record.labels)
        if record.turn_id in turns
        else record
        for record in records
    ]


class PassageLookup:
    """Finds passages of a data set by their ids, in the copies of its corpora that the store has already.

    Args:
        dataset: has the corpora.
        store: may have copies of them.
    """

    def __init__(self, dataset: Dataset, store: Store) -> None:
        self._dataset = dataset
        self._store = store
        self._corpora: dict[str, Corpus | None] = {}

    def find(self, domain: str, ids: Sequence[str]) -> list[Passage]:
        """Find passages of a domain; those that the copy does not have are left out, all where there is no copy."""
        if domain not in self._dataset.domains():
            return []
        if domain not in self._corpora:
            self._corpora[domain] = Corpus.open_copy(self._dataset, domain, self._store)
        corpus = self._corpora[domain]
        return corpus.get_by_id(ids) if corpus else []
