"""Records of a data set's turns, made of predictions in files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from convrag import Answer, Dataset, Evidence, EvidenceItem, Hit, Passage, Query, TurnRecord
from convrag_tasks.prediction_files import sort_hits
from convrag_tasks.predictions import Predictions
from convrag_tasks.run_records import DatasetTurn


def make_records(
    predictions: Predictions,
    turns: Mapping[str, DatasetTurn],
    missing: Mapping[str, Sequence[str]],
    top_n: int,
) -> list[TurnRecord]:
    """Make a record for each turn that the files have, in the data set's order.

    The trace of a record says what can be measured of it.

    Args:
        predictions: the rankings and answers in the files.
        turns: the turns of the data set.
        missing: "ranking" or "answer" -> turns that no file has, and that count as if nothing was
            found or answered.
        top_n: passages of a ranking that are evidence where the file of answers names none.
    """
    records = []
    missing_turns = {part: frozenset(turn_ids) for part, turn_ids in missing.items()}
    for turn_id, place in turns.items():
        own = predictions.parts_of(turn_id)
        parts = [
            part
            for part in predictions.parts
            if part in own or turn_id in missing_turns.get(part, ())
        ]
        if parts:
            record = _make_record(predictions, place, top_n)
            records.append(replace(record, trace={"evaluate": {"given": parts}}))
    return records


def _make_record(predictions: Predictions, place: DatasetTurn, top_n: int) -> TurnRecord:
    turn = place.turn
    domain = place.conversation.domain
    answer = predictions.get_answer(turn.id)
    hits: Sequence[Hit] = predictions.get_ranking(turn.id)
    if predictions.rankings is None and answer is not None:
        hits = sort_hits(answer.passages or [])
    queries: tuple[Query, ...] = ()
    if answer is not None and answer.query:
        queries = (Query(answer.query, turn_id=turn.id, domain=domain),)
    return TurnRecord(
        conversation_id=place.conversation.id,
        turn_id=turn.id,
        domain=domain,
        number=place.number,
        original_query=turn.question,
        queries=queries,
        hits=tuple(hits),
        evidence=_choose_evidence(predictions, place, top_n),
        answer=Answer("" if answer is None else answer.text),
        labels=turn.labels,
    )


def _choose_evidence(predictions: Predictions, place: DatasetTurn, top_n: int) -> Evidence:
    """Choose the passages that an answer was given; a turn without an answer has none.

    They are the contexts in the answer's file, else the top passages of the run, else the data
    set's relevant passages.
    """
    turn = place.turn
    answer = predictions.get_answer(turn.id)
    if answer is None:
        return Evidence()
    if answer.passages is not None:
        passages = [hit.passage for hit in answer.passages]
    elif predictions.rankings is not None:
        passages = [hit.passage for hit in predictions.get_ranking(turn.id)[:top_n]]
    else:
        passages = list(turn.passages)
    items = [EvidenceItem(number, each, each.text) for number, each in enumerate(passages, 1)]
    return Evidence(tuple(items))


def add_passage_texts(records: Sequence[TurnRecord], dataset: Dataset) -> list[TurnRecord]:
    """Add the texts of passages, from the data set's corpora, to records that lack them."""
    wanted = {
        item.passage.id
        for record in records
        for item in record.evidence.items
        if not item.passage.text
    }
    found: dict[str, Passage] = {}
    if wanted:
        for domain in dict.fromkeys(record.domain for record in records):
            for passage in dataset.corpus(domain):
                if passage.id in wanted:
                    found[passage.id] = passage
    return [_replace_passages(record, found) for record in records]


def _replace_passages(record: TurnRecord, found: Mapping[str, Passage]) -> TurnRecord:
    if not found:
        return record
    hits = [replace(hit, passage=found.get(hit.passage.id, hit.passage)) for hit in record.hits]
    items = []
    for item in record.evidence.items:
        passage = found.get(item.passage.id, item.passage)
        items.append(replace(item, passage=passage, text=passage.text))
    return replace(record, hits=tuple(hits), evidence=Evidence(tuple(items)))
