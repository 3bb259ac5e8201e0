"""Samples of RAGAS and test cases of DeepEval: the turns, or the conversations, of a run.

The forms are those of ragas 0.4 (src/ragas/dataset_schema.py and messages.py) and deepeval 4
(deepeval/test_case/llm_test_case.py and conversational_test_case.py).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from convrag import Passage, Turn, TurnRecord
from convrag.sdk.data.strict_json import format_json

Contexts = Literal["evidence", "hits"]
Queries = Literal["rewritten", "asked"]
References = Mapping[str, Sequence[Passage]]
"""Turn id -> the relevant passages of the turn."""

Histories = Mapping[str, Sequence[Turn]]
"""Conversation id -> the turns before the first one that was asked."""


def format_ragas_turns(
    records: Iterable[TurnRecord], references: References, contexts: Contexts, queries: Queries
) -> Iterator[str]:
    """Yield a `SingleTurnSample` for each turn, as JSONL; unknown fields are left out.

    Args:
        records: the records of turns that did not fail.
        references: the relevant passages of turns.
        contexts: which passages of a record are its retrieved contexts.
        queries: whether the input is the rewritten query or what the user typed.
    """
    for record in records:
        retrieved = list_contexts(record, contexts)
        sample: dict[str, Any] = {
            "user_input": choose_query(record, queries),
            "retrieved_contexts": [passage.content for passage in retrieved],
            "retrieved_context_ids": [passage.id for passage in retrieved],
        }
        relevant = references.get(record.turn_id, ())
        if relevant:
            sample["reference_contexts"] = [passage.content for passage in relevant]
            sample["reference_context_ids"] = [passage.id for passage in relevant]
        sample["response"] = record.answer.text
        if record.reference:
            sample["reference"] = record.reference
        yield format_json(sample)


def format_ragas_conversations(
    records: Iterable[TurnRecord], histories: Histories
) -> Iterator[str]:
    """Yield a `MultiTurnSample` for each conversation, as JSONL; the arguments are as above."""
    for conversation_id, turns in group_by_conversation(records).items():
        messages = []
        for turn in histories.get(conversation_id, ()):
            messages.append({"content": turn.question, "type": "human"})
            messages.append({"content": turn.answer, "type": "ai"})
        for record in turns:
            messages.append({"content": record.original_query, "type": "human"})
            messages.append({"content": record.answer.text, "type": "ai"})
        yield format_json({"user_input": messages})


def format_deepeval_turns(
    records: Iterable[TurnRecord], references: References, contexts: Contexts, queries: Queries
) -> Iterator[str]:
    """Yield the lines of a JSON array with the fields of an `LLMTestCase` for each turn.

    Unknown fields are left out. The arguments are those of `format_ragas_turns`.
    """
    cases = []
    for record in records:
        case: dict[str, Any] = {
            "name": record.turn_id,
            "input": choose_query(record, queries),
            "actual_output": record.answer.text,
            "retrieval_context": [each.content for each in list_contexts(record, contexts)],
        }
        if record.reference:
            case["expected_output"] = record.reference
        relevant = references.get(record.turn_id, ())
        if relevant:
            case["context"] = [passage.content for passage in relevant]
        cases.append(case)
    return _format_array(cases)


def format_deepeval_conversations(
    records: Iterable[TurnRecord], histories: Histories, contexts: Contexts
) -> Iterator[str]:
    """Yield the lines of a JSON array with a `ConversationalTestCase` for each conversation."""
    cases = []
    for conversation_id, turns in group_by_conversation(records).items():
        messages: list[dict[str, Any]] = []
        for turn in histories.get(conversation_id, ()):
            messages.append({"role": "user", "content": turn.question})
            messages.append({"role": "assistant", "content": turn.answer})
        for record in turns:
            texts = [passage.content for passage in list_contexts(record, contexts)]
            answer = record.answer.text
            messages.append({"role": "user", "content": record.original_query})
            messages.append({"role": "assistant", "content": answer, "retrieval_context": texts})
        cases.append({"name": conversation_id, "turns": messages})
    return _format_array(cases)


def choose_query(record: TurnRecord, queries: Queries) -> str:
    """Return the rewritten query of a turn, or what the user typed."""
    return record.rewritten_query if queries == "rewritten" else record.original_query


def list_contexts(record: TurnRecord, contexts: Contexts) -> list[Passage]:
    """List the passages that the answer was given, or the ranking."""
    if contexts == "hits":
        return [hit.passage for hit in record.hits]
    return [item.passage for item in record.evidence.items]


def group_by_conversation(records: Iterable[TurnRecord]) -> dict[str, list[TurnRecord]]:
    """Group records by conversation id, each group in the order of its turns."""
    groups: dict[str, list[TurnRecord]] = {}
    for record in records:
        groups.setdefault(record.conversation_id, []).append(record)
    for turns in groups.values():
        turns.sort(key=lambda record: record.number)
    return groups


def _format_array(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a JSON array, with a row on each line."""
    last = len(rows) - 1
    yield "["
    for index, row in enumerate(rows):
        comma = "" if index == last else ","
        yield f"{format_json(row)}{comma}"
    yield "]"
