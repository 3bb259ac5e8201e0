"""Turn records made from predictions, so that they are scored as the turns of a run are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from convrag import Answer, Dataset, Evidence, EvidenceItem, Hit, Passage, Query, Turn, TurnRecord
from convrag_tasks.dataset_turns import DatasetTurn
from convrag_tasks.predictions import ANSWER, RANKING, PredictedAnswer, Predictions, sort_hits

_NO_ANSWER = PredictedAnswer("", "", None)


def find_missing(
    predictions: Predictions, turns: Mapping[str, DatasetTurn], qrels: Mapping[str, object]
) -> dict[str, list[str]]:
    """The turns that no file has, although the data set has qrels or a reference answer for them.

    Returns:
        "ranking" and "answer", as far as the files hold any -> turn ids.
    """
    judged = {
        RANKING: [turn_id for turn_id in turns if qrels.get(turn_id)],
        ANSWER: [turn_id for turn_id, place in turns.items() if place.turn.answer.strip()],
    }
    parts = [part for part in predictions.parts if part in judged]
    return {part: [name for name in judged[part] if part not in predictions.parts_of(name)] for part in parts}


def make_records(
    predictions: Predictions, turns: Mapping[str, DatasetTurn], missing: Mapping[str, Sequence[str]], top_n: int
) -> list[TurnRecord]:
    """A record for each turn that the files have, in the data set's order; its trace says what can be measured of it.

    Args:
        predictions: what the files hold.
        turns: of the data set.
        missing: "ranking" or "answer" -> turns that no file has, and that count as if nothing was found or said.
        top_n: passages of a ranking that are evidence where the file of answers names none.
    """
    records = []
    counted = {part: frozenset(names) for part, names in missing.items()}
    for turn_id, place in turns.items():
        own = predictions.parts_of(turn_id)
        parts = [part for part in predictions.parts if part in own or turn_id in counted.get(part, ())]
        if parts:
            records.append(replace(_make_record(predictions, place, top_n), trace={"evaluate": {"given": parts}}))
    return records


def add_passage_texts(records: Sequence[TurnRecord], dataset: Dataset) -> list[TurnRecord]:
    """The records, with the texts of the passages in their evidence from the data set's corpora."""
    wanted = {item.passage.id for record in records for item in record.evidence.items if not item.passage.text}
    domains = dict.fromkeys(record.domain for record in records) if wanted else ()
    found = {passage.id: passage for domain in domains for passage in dataset.corpus(domain) if passage.id in wanted}
    return [_replace_passages(record, found) for record in records]


def _make_record(predictions: Predictions, place: DatasetTurn, top_n: int) -> TurnRecord:
    turn = place.turn
    answer = (predictions.answers or {}).get(turn.id, _NO_ANSWER)
    hits = tuple((predictions.rankings or {}).get(turn.id, ()))
    if predictions.rankings is None:
        hits = tuple(sort_hits(list(answer.passages or ())))
    return TurnRecord(
        conversation_id=place.conversation.id,
        turn_id=turn.id,
        domain=place.conversation.domain,
        number=place.number,
        original_query=turn.question,
        queries=(Query(answer.query, turn_id=turn.id, domain=place.conversation.domain),) if answer.query else (),
        hits=hits,
        evidence=_choose_evidence(predictions, turn, answer, hits[:top_n]),
        answer=Answer(answer.text),
        labels=turn.labels,
    )


def _choose_evidence(predictions: Predictions, turn: Turn, answer: PredictedAnswer, top: Sequence[Hit]) -> Evidence:
    """The contexts in the answer's file, else the top passages of the run, else the data set's relevant passages."""
    if answer is _NO_ANSWER:
        return Evidence()
    if answer.passages is not None:
        passages = [hit.passage for hit in answer.passages]
    elif predictions.rankings is not None:
        passages = [hit.passage for hit in top]
    else:
        passages = list(turn.passages)
    return Evidence(tuple(EvidenceItem(n, passage, passage.text) for n, passage in enumerate(passages, 1)))


def _replace_passages(record: TurnRecord, found: Mapping[str, Passage]) -> TurnRecord:
    if not found:
        return record
    hits = tuple(Hit(found.get(hit.passage.id, hit.passage), hit.score) for hit in record.hits)
    items = (replace(item, passage=found.get(item.passage.id, item.passage)) for item in record.evidence.items)
    with_texts = tuple(replace(item, text=item.passage.text) for item in items)
    return replace(record, hits=hits, evidence=Evidence(with_texts))
