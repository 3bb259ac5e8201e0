"""The truths of a data set about its turns: labels, reference answers, relevant passages."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from convrag.api.conversations import Turn
from convrag.api.records import TurnRecord
from convrag.api.stages import Dataset, Retriever
from convrag.store.remember import cache_enabled

MISSED_DEPTH = 1000
"""The rank down to which relevant passages are looked for that a turn has missed."""

Qrels = Mapping[str, Mapping[str, int]]
"""Turn id -> passage id -> grade of relevance."""


def add_truth(record: TurnRecord, turn: Turn, qrels: Qrels) -> TurnRecord:
    """Return the record with its turn's labels, reference answer and relevant passages."""
    gold = _find_gold(record, qrels.get(turn.id, {}))
    return replace(record, labels=turn.labels, reference=turn.answer.strip(), gold=gold)


def _find_gold(record: TurnRecord, grades: Mapping[str, int]) -> dict[str, int]:
    """Return passage id -> grade; a judged document has the turn's passages of it in its place.

    A document of which the turn has no passage stays, as a missed one.
    """
    gold = dict(grades)
    shown = [hit.passage for hit in record.hits] + [each.passage for each in record.evidence.items]
    for passage in shown:
        if passage.id not in grades and passage.document in grades:
            gold[passage.id] = grades[passage.document]
            gold.pop(passage.document, None)
    return gold


def add_truths(records: Iterable[TurnRecord], dataset: Dataset) -> list[TurnRecord]:
    """Return the records of finished turns with their reference answers and relevant passages.

    They keep their labels. A turn that the data set does not have keeps all that its record says.
    """
    turns = {turn.id: turn for each in dataset.conversations() for turn in each.turns}
    qrels = dataset.qrels()
    known = []
    for record in records:
        turn = turns.get(record.turn_id)
        if turn is None:
            known.append(record)
        else:
            known.append(replace(add_truth(record, turn, qrels), labels=record.labels))
    return known


def rank_missed(record: TurnRecord, retriever: Retriever) -> TurnRecord:
    """Return the record with the ranks of its missed relevant passages, in the retriever's trace.

    A rank is None if the passage is not among the first `MISSED_DEPTH` that the retriever has for
    these queries.
    """
    retrieved = {hit.passage.id for hit in record.hits}
    missed = [id for id, grade in record.gold.items() if grade > 0 and id not in retrieved]
    if not missed or record.error:
        return record
    token = cache_enabled.set(False)
    try:
        hits = retriever.retrieve(record.queries, MISSED_DEPTH)
    except Exception:  # of any plugin: the turn itself has ended well, and its record has no ranks
        return record
    finally:
        cache_enabled.reset(token)
    ranks: dict[str, int] = {}
    for rank, hit in enumerate(hits, start=1):
        ranks.setdefault(hit.passage.id, rank)
        ranks.setdefault(hit.passage.document, rank)
    missed_ranks = {id: ranks.get(id) for id in missed}
    retriever_trace = {**record.trace.get("retriever", {}), "missed_ranks": missed_ranks}
    return replace(record, trace={**record.trace, "retriever": retriever_trace})
