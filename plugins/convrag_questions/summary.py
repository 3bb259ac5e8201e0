"""What was written and what was refused, in sentences, and the command that runs on the questions."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from convrag.sdk.printable import count
from convrag.sdk.tasks.configuration import place_of
from convrag.sdk.types import Usage
from convrag_questions.conversation import WrittenConversation
from convrag_questions.plan import name_document
from convrag_questions.question import Counts, Kind

_KINDS: dict[Kind, str] = {"opening": "opening question", "follow_up": "follow-up", "topic_shift": "topic shift"}

RULES = (
    "Rules wrote these questions, in English, from the sentences of the passages: they share their words, so that "
    "searching by words finds them easily. A language model writes harder ones: llm=litellm llm.model=..."
)
"""What must be known of questions that no language model wrote."""


def list_results(conversations: Sequence[WrittenConversation], counts: Counts, usage: Usage) -> Iterator[str]:
    """Say what was written, what was refused and why, and what it cost."""
    turns = [turn for each in conversations for turn in each.turns]
    if turns:
        kinds = Counter(turn.kind for turn in turns)
        named = ", ".join(count(kinds[kind], noun) for kind, noun in _KINDS.items() if kinds[kind])
        documents = len({(each.domain, name_document(turn.passage)) for each in conversations for turn in each.turns})
        passages = len({(each.domain, turn.passage.id) for each in conversations for turn in each.turns})
        yield (
            f"{count(len(conversations), 'conversation')}, {count(len(turns), 'turn')}: {named}; about "
            f"{count(passages, 'passage')} of {count(documents, 'document')}."
        )
    if refused := sum(counts.refused.values()):
        reasons = ", ".join(f"{reason} {number}" for reason, number in counts.refused.most_common())
        yield f"{count(refused, 'proposal')} refused: {reasons}."
    if counts.unreadable:
        yield f"{count(counts.unreadable, 'time')} the model's replies could not be read."
    if counts.failed:
        yield f"{count(counts.failed, 'call')} failed; the first: {counts.first_failure}"
    spent = f"; ${usage.spent_usd:.4f} spent" if usage.spent_usd else ""
    yield (
        f"Calls: {usage.calls} made, {usage.reused} reused; {usage.prompt_tokens:,} prompt and "
        f"{usage.completion_tokens:,} completion tokens{spent}."
    )


def list_example(conversation: WrittenConversation) -> Iterator[str]:
    """Show a conversation, with the passage that answers each question."""
    yield f"For example {conversation.id}:"
    for turn in conversation.turns:
        yield f"  User: {turn.question}"
        yield f"  Answer: {turn.answer} [{turn.passage.id}]"


def format_command(overrides: Sequence[str], path: Path, dataset: str) -> str:
    """The command that compares rewriters on the questions.

    Args:
        overrides: of this command, from which the data set and how it is cut are taken.
        path: the folder of the questions.
        dataset: the option of the data set, for a command that chooses it by a preset or not at all.
    """
    chosen = [each.lstrip("+") for each in overrides if place_of(each).partition(".")[0] in ("dataset", "chunker")]
    data = [f"dataset.corpus{each.removeprefix('dataset')}" if each.startswith("dataset") else each for each in chosen]
    if not any(each.startswith("dataset.corpus=") for each in data):
        data.insert(0, f"dataset.corpus={dataset}")
    words = ["rewriter=none,last_n,mmr", "dataset=questions", f"dataset.path={path}", *data]
    return f"python -m convrag -m {' '.join(map(shlex.quote, words))}"
