"""Dialogues of Doc2Dial and MultiDoc2Dial: users' and agents' turns, which refer to spans of documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from convrag import Conversation, Passage, Turn
from convrag_datasets.doc2dial_documents import format_span
from convrag_datasets.row_files import read_json_fields
from convrag_datasets.rows import Row, UniqueIds
from convrag_datasets.rows_of_turns import format_row_id
from convrag_datasets.turns import pair_turns

_ROOT = "dial_data"
_ROLES = {"user", "agent"}
_NO_SOLUTION = "respond_no_solution"


class _Spoken(NamedTuple):
    role: str
    number: int
    text: str
    act: str
    spans: tuple[str, ...]
    node: Row


def read_dialogues(path: Path, *, by_document: bool, passages: dict[str, Passage]) -> Iterator[Conversation]:
    """Stream the dialogues of a file: {"dial_data": {domain: [{"dial_id": ..., "turns": [...]}]}}.

    A user's utterance is a question, what agents say until the user speaks again the answer; what an agent says before
    is left out. The id of a turn is dialogue_turn, with the number of the user's turn. Labels: `act` (the dialogue act
    of the user), `reply` (the act of the agent), `answerability` (UNANSWERABLE where the agent has no solution).

    Args:
        path: the file.
        by_document: whether the dialogues of a domain stand by document once more, as in Doc2Dial.
        passages: the spans by id; those that an answer refers to become the turn's passages.

    Raises:
        DataError: the file has another form, an id occurs twice, or a turn refers to an unknown span.
    """
    ids = UniqueIds("dialogue")
    for domain, document, row in _list_dialogues(path, by_document):
        name = row.require_id("dial_id")
        ids.add(name, row)
        spoken = [_read_spoken(each, document) for each in row.require_items("turns")]
        if turns := tuple(_read_turns(name, spoken, passages)):
            yield Conversation(name, turns, domain)


def _list_dialogues(path: Path, by_document: bool) -> Iterator[tuple[str, str, Row]]:
    """Stream the dialogues with their domain and document."""
    for domain, row in read_json_fields(path, _ROOT):
        documents = row.list_fields() if by_document else [("", row)]
        yield from ((domain, document, each) for document, rows in documents for each in rows.read_items())


def _read_spoken(node: Row, document: str) -> _Spoken:
    role = node.require_text("role")
    if role not in _ROLES:
        raise node.error(f"the role must be user or agent, not {role!r}")
    spans = tuple(
        format_span(each.optional_text("doc_id") or document, each.require_id("id_sp", "sp_id"))
        for each in node.optional_items("references")
        if each.has("id_sp") or each.has("sp_id")
    )
    text, act = node.require_text("utterance"), node.optional_text("da")
    return _Spoken(role, node.require_number("turn_id"), text, act, spans, node)


def _read_turns(name: str, spoken: Sequence[_Spoken], passages: dict[str, Passage]) -> Iterator[Turn]:
    numbers = UniqueIds("turn")
    for each in spoken:
        numbers.add(str(each.number), each.node)
    for question, replies in pair_turns(spoken, lambda each: each.role == "user"):
        labels: dict[str, Any] = {"act": question.act}
        if replies:
            labels["reply"] = replies[-1].act
            unanswerable = any(reply.act == _NO_SOLUTION for reply in replies)
            labels["answerability"] = "UNANSWERABLE" if unanswerable else "ANSWERABLE"
        yield Turn(
            id=format_row_id(name, question.number),
            question=question.text,
            answer="\n".join(reply.text for reply in replies),
            passages=tuple(_find_passages(replies, passages)),
            labels={label: value for label, value in labels.items() if value},
        )


def _find_passages(replies: Sequence[_Spoken], passages: dict[str, Passage]) -> Iterator[Passage]:
    """The spans that an answer refers to, each once. Raises DataError for one that no document has."""
    for name, node in {name: reply.node for reply in replies for name in reply.spans}.items():
        if name not in passages:
            raise node.error(f"no document has the span {name!r}")
        yield passages[name]
