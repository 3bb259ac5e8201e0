"""The dialogues of Doc2Dial and MultiDoc2Dial."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import Conversation, Passage, Turn
from convrag_datasets.doc2dial_documents import find_span, format_span_id
from convrag_datasets.files.json_rows import read_json_fields
from convrag_datasets.files.row import Row, UniqueIds
from convrag_datasets.files.turns import format_row_id, pair_turns

_ROLES = {"user", "agent"}
_NO_SOLUTION = "respond_no_solution"
"""The dialogue act of an agent who has no answer."""


@dataclass(frozen=True)
class _Utterance:
    """What a user or an agent says.

    Args:
        row: its row.
        role: user or agent.
        number: in the dialogue.
        text: the words.
        act: the dialogue act.
        spans: the ids of the passages that it refers to.
    """

    row: Row
    role: str
    number: int
    text: str
    act: str
    spans: tuple[str, ...]


def read_dialogues(
    path: Path, *, by_document: bool, passages: Mapping[str, Passage]
) -> Iterator[Conversation]:
    """Stream the dialogues of a file.

    Its form is {"dial_data": {domain: [{"dial_id": ..., "turns": [...]}]}}. An utterance of a user
    is a question, and what agents say until a user speaks again is the answer; what an agent says
    before the first question is left out. The id of a turn is dialogue_turn, with the number of the
    user's utterance. Labels: `act` (the dialogue act of the user), `reply` (the act of the agent),
    `answerability` (UNANSWERABLE where the agent has no solution).

    Args:
        path: the file.
        by_document: whether the dialogues of a domain are grouped by document, as in Doc2Dial.
        passages: the spans by id; those that an answer refers to become the turn's passages.

    Raises:
        DataError: the file has another form, an id occurs twice, or a turn refers to an unknown
            span.
    """
    ids = UniqueIds("dialogue")
    for domain, document, row in _list_dialogues(path, by_document=by_document):
        name = row.require_id("dial_id")
        ids.add(name, row)
        utterances = _read_utterances(row, document)
        turns = tuple(_read_turns(name, utterances, passages))
        if turns:
            yield Conversation(name, turns, domain)


def _list_dialogues(path: Path, *, by_document: bool) -> Iterator[tuple[str, str, Row]]:
    """Stream the dialogues with their domain, and their document if they are grouped by it."""
    for domain, row in read_json_fields(path, "dial_data"):
        groups = row.list_fields() if by_document else [("", row)]
        for document, dialogues in groups:
            for dialogue in dialogues.read_items():
                yield domain, document, dialogue


def _read_utterances(dialogue: Row, document: str) -> list[_Utterance]:
    ids = UniqueIds("turn")
    utterances = []
    for row in dialogue.require_items("turns"):
        utterance = _read_utterance(row, document)
        ids.add(str(utterance.number), row)
        utterances.append(utterance)
    return utterances


def _read_utterance(node: Row, document: str) -> _Utterance:
    role = node.require_text("role")
    if role not in _ROLES:
        raise node.error(f"the role must be user or agent, not {role!r}")
    spans = []
    for reference in node.optional_items("references"):
        span = find_span(reference)
        if span:
            spans.append(format_span_id(reference.optional_text("doc_id") or document, span))
    return _Utterance(
        row=node,
        role=role,
        number=node.require_number("turn_id"),
        text=node.require_text("utterance"),
        act=node.optional_text("da"),
        spans=tuple(spans),
    )


def _read_turns(
    name: str, utterances: Sequence[_Utterance], passages: Mapping[str, Passage]
) -> Iterator[Turn]:
    for question, replies in pair_turns(utterances, lambda each: each.role == "user"):
        yield Turn(
            id=format_row_id(name, question.number),
            question=question.text,
            answer="\n".join(reply.text for reply in replies),
            passages=tuple(_find_passages(replies, passages)),
            labels=_make_labels(question, replies),
        )


def _make_labels(question: _Utterance, replies: Sequence[_Utterance]) -> dict[str, Any]:
    labels = {}
    if question.act:
        labels["act"] = question.act
    if not replies:
        return labels
    if replies[-1].act:
        labels["reply"] = replies[-1].act
    is_unanswerable = any(reply.act == _NO_SOLUTION for reply in replies)
    labels["answerability"] = "UNANSWERABLE" if is_unanswerable else "ANSWERABLE"
    return labels


def _find_passages(
    replies: Sequence[_Utterance], passages: Mapping[str, Passage]
) -> Iterator[Passage]:
    """Yield the spans that an answer refers to, each once.

    Raises DataError for a span that no document has.
    """
    seen: set[str] = set()
    for reply in replies:
        for span in reply.spans:
            if span not in passages:
                raise reply.row.error(f"no document has the span {span!r}")
            if span not in seen:
                seen.add(span)
                yield passages[span]
