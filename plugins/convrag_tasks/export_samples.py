"""Runs as the samples of RAGAS, from src/ragas/dataset_schema.py and messages.py of ragas 0.4."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from convrag import Passage, Turn, TurnRecord
from convrag.sdk.strict_json import format_json

Queries = Literal["rewritten", "asked"]
Contexts = Literal["evidence", "hits"]
References = Mapping[str, Sequence[Passage]]
Histories = Mapping[str, Sequence[Turn]]


def format_ragas_turns(
    records: Sequence[TurnRecord], references: References, contexts: Contexts, queries: Queries
) -> Iterator[str]:
    """A SingleTurnSample a line, as `EvaluationDataset.from_jsonl` reads it. What is not known is left out.

    Args:
        records: turns that did not fail.
        references: turn id -> relevant passages.
        contexts: which passages are the retrieved ones.
        queries: whether the input is the rewritten query, which can be understood by itself, or the user's words.
    """
    for record in records:
        retrieved, relevant = list_contexts(record, contexts), references.get(record.turn_id, ())
        sample = {
            "user_input": choose_query(record, queries),
            "retrieved_contexts": [passage.content for passage in retrieved],
            "retrieved_context_ids": [passage.id for passage in retrieved],
            "reference_contexts": [passage.content for passage in relevant],
            "reference_context_ids": [passage.id for passage in relevant],
            "response": record.answer.text,
            "reference": record.reference,
        }
        if not relevant:
            del sample["reference_contexts"], sample["reference_context_ids"]
        yield format_json({name: value for name, value in sample.items() if value != ""})


def format_ragas_conversations(records: Sequence[TurnRecord], histories: Histories) -> Iterator[str]:
    """A MultiTurnSample a line, as `EvaluationDataset.from_jsonl` reads it: the messages of a conversation.

    Args:
        records: turns that did not fail.
        histories: conversation id -> the turns before the first that was asked.
    """
    for turns in group_by_conversation(records):
        given = [(turn.question, turn.answer) for turn in histories.get(turns[0].conversation_id, ())]
        exchanges = [*given, *((record.original_query, record.answer.text) for record in turns)]
        messages = [
            {"content": text, "type": speaker}
            for exchange in exchanges
            for speaker, text in zip(("human", "ai"), exchange, strict=True)
        ]
        yield format_json({"user_input": messages})


def choose_query(record: TurnRecord, queries: Queries) -> str:
    """The rewritten query of a turn, or the user's own words."""
    return record.rewritten_query if queries == "rewritten" else record.original_query


def list_contexts(record: TurnRecord, contexts: Contexts) -> list[Passage]:
    """The passages that the answer was given, or the ranking."""
    if contexts == "hits":
        return [hit.passage for hit in record.hits]
    return [item.passage for item in record.evidence.items]


def group_by_conversation(records: Sequence[TurnRecord]) -> list[list[TurnRecord]]:
    """The records of each conversation in order of the turns; conversations in order of their first record."""
    groups: dict[tuple[str, str], list[TurnRecord]] = {}
    for record in records:
        groups.setdefault((record.domain, record.conversation_id), []).append(record)
    return [sorted(turns, key=lambda record: record.number) for turns in groups.values()]
