"""Messages of two speakers become exchanges: a question and what was answered to it."""

from __future__ import annotations

from collections.abc import Sequence

from convrag.sdk.utterances import USER
from convrag_datasets.json_rows import Row

_ASSISTANT = {"assistant", "agent"}
_UNSPOKEN = {"system", "developer", "tool"}  # what a model was told beside the conversation

Exchange = tuple[str, str]


def exchanges(messages: Sequence[Row]) -> list[Exchange]:
    """Chat messages (`role`, `content`; MTRAG says `speaker`, `text`) -> question and answer of each turn.

    Every user message opens a turn, whose answer is what the assistant says until the next one; an answer may be empty.
    What an assistant says before the first question answers none and is left out.
    """
    questions: list[str] = []
    answers: list[list[str]] = []
    for message in messages:
        role = message.text("role", "speaker")
        if role == "user":
            question = message.text("content", "text").removeprefix(USER)
            if not question.strip():
                raise message.error("the question is empty")
            questions.append(question)
            answers.append([])
        elif role in _ASSISTANT:
            if answers and (answer := message.optional("content", "text")):
                answers[-1].append(answer)
        elif role not in _UNSPOKEN:
            raise message.error(f"the role must be user or assistant, not {role!r}")
    return [(question, "\n".join(parts)) for question, parts in zip(questions, answers, strict=True)]
