"""Records of turns, put together from a data set and what files say about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from convrag import Answer, Dataset, Evidence, EvidenceItem, Hit, Passage, Query, Turn, TurnRecord
from convrag_tasks.given_answers import GivenAnswer
from convrag_tasks.given_rankings import ranked
from convrag_tasks.given_turns import ANSWER, RANKING, Asked, Given

NOTHING = GivenAnswer("", "", None)


def absent(given: Given, turns: Mapping[str, Asked], qrels: Mapping[str, object]) -> dict[str, list[str]]:
    """What the files measure -> the turns that they lack, though the data set says what would be right."""
    judged = {
        RANKING: [turn_id for turn_id in turns if qrels.get(turn_id)],
        ANSWER: [turn_id for turn_id, place in turns.items() if place.turn.answer.strip()],
    }
    measured = [kind for kind in given.measured if kind in judged]
    return {kind: [name for name in judged[kind] if kind not in given.kinds(name)] for kind in measured}


def put_together(
    given: Given, turns: Mapping[str, Asked], lacking: Mapping[str, Sequence[str]], top_n: int
) -> list[TurnRecord]:
    """A record for each turn that the files have, in the data set's order; its trace says what can be measured of it.

    Args:
        given: what the files say.
        turns: those of the data set.
        lacking: what is measured -> turns that no file has, and that count as if nothing was found or said.
        top_n: passages of a ranking that are evidence where the file of answers names none.
    """
    records = []
    counted = {kind: frozenset(names) for kind, names in lacking.items()}
    for turn_id, place in turns.items():
        own = given.kinds(turn_id)
        kinds = [kind for kind in given.measured if kind in own or turn_id in counted.get(kind, ())]
        if kinds:
            records.append(replace(_record(given, place, top_n), trace={"evaluate": {"given": kinds}}))
    return records


def with_texts(records: Sequence[TurnRecord], dataset: Dataset) -> list[TurnRecord]:
    """The records, with the texts of the passages in their evidence, as the corpora have them."""
    lacking = {item.passage.id for record in records for item in record.evidence.items if not item.passage.text}
    domains = dict.fromkeys(record.domain for record in records) if lacking else ()
    found = {passage.id: passage for domain in domains for passage in dataset.corpus(domain) if passage.id in lacking}
    return [_filled(record, found) for record in records]


def _record(given: Given, place: Asked, top_n: int) -> TurnRecord:
    turn = place.turn
    answer = (given.answers or {}).get(turn.id, NOTHING)
    hits = tuple((given.rankings or {}).get(turn.id, ()))
    if given.rankings is None:
        hits = tuple(ranked(list(answer.passages or ())))
    return TurnRecord(
        conversation_id=place.conversation.id,
        turn_id=turn.id,
        domain=place.conversation.domain,
        number=place.number,
        original_query=turn.question,
        queries=(Query(answer.query, turn_id=turn.id, domain=place.conversation.domain),) if answer.query else (),
        hits=hits,
        evidence=_evidence(given, turn, answer, hits[:top_n]),
        answer=Answer(answer.text),
        labels=turn.labels,
    )


def _evidence(given: Given, turn: Turn, answer: GivenAnswer, top: Sequence[Hit]) -> Evidence:
    """What the answer was given: as its file says, else the best of the run, else the data set's relevant passages."""
    if answer is NOTHING:
        return Evidence()
    if answer.passages is not None:
        passages = [hit.passage for hit in answer.passages]
    elif given.rankings is not None:
        passages = [hit.passage for hit in top]
    else:
        passages = list(turn.passages)
    return Evidence(tuple(EvidenceItem(n, passage, passage.text) for n, passage in enumerate(passages, 1)))


def _filled(record: TurnRecord, found: Mapping[str, Passage]) -> TurnRecord:
    if not found:
        return record
    hits = tuple(Hit(found.get(hit.passage.id, hit.passage), hit.score) for hit in record.hits)
    items = (replace(item, passage=found.get(item.passage.id, item.passage)) for item in record.evidence.items)
    shown = tuple(replace(item, text=item.passage.text) for item in items)
    return replace(record, hits=hits, evidence=Evidence(shown))
