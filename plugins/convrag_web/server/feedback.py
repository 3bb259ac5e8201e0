"""Feedback on answers, stored with their conversations, and the files that are made of it.

`task=agreement` reads a row as a rating:

`{"turn_id": "c1<::>2", "criterion": "helpful", "score": 1, "annotator": "anna", "grades": {"p7":
1}, ...}`
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field, StrictBool

from convrag import Conversations, TurnRecord
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.text.citations import strip_citations
from convrag_web.server.errors import RequestError
from convrag_web.server.request_texts import FilledText, Text

USER = "user"
"""The annotator of feedback without a name, such as the page's."""

Row = dict[str, Any]
FeedbackForm = Annotated[
    Literal["ratings", "qrels", "conversations"], Query(description="the form of the file")
]


class Feedback(BaseModel):
    """Feedback on a turn. New feedback from the same annotator replaces the old."""

    helpful: StrictBool
    answer: Text = Field("", description="what the answer should have been")
    wrong: list[str] = Field(
        [], fail_fast=True, description="ids of found passages that do not belong to the question"
    )
    comment: Text = ""
    annotator: FilledText = Field(USER, max_length=200, description="the name of the annotator")


def add_feedback(conversations: Conversations, record: TurnRecord, feedback: Feedback) -> None:
    """Store feedback on a turn. Raises RequestError for a passage that the turn did not find."""
    found = {hit.passage.id for hit in record.hits}
    for passage in feedback.wrong:
        if passage and passage not in found:
            message = f"no passage {passage!r} was found"
            raise RequestError(422, message, param="wrong", code="unknown_passage")
    grades: dict[str, int] = {}
    if feedback.helpful:
        grades |= dict.fromkeys(record.answer.citations, 1)
    grades |= dict.fromkeys(feedback.wrong, 0)
    row = {
        "turn_id": record.turn_id,
        "criterion": "helpful",
        "score": int(feedback.helpful),
        "reason": feedback.comment,
        "annotator": feedback.annotator,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "conversation_id": record.conversation_id,
        "answer": record.answer.text,
        "corrected": feedback.answer,
        "grades": grades,
    }
    conversations.add_feedback(record.conversation_id, row)


def format_feedback(conversations: Conversations, form: str) -> str:
    """Format the latest feedback of each annotator on each turn as a file, see `FeedbackForm`."""
    rows = _find_latest(conversations.read_feedback()).values()
    if form == "qrels":
        return "".join(_format_qrels(rows))
    lines: Iterable[Row] = rows
    if form == "conversations":
        lines = _make_conversations(conversations, rows)
    return "".join(f"{format_json(line)}\n" for line in lines)


def find_thumbs(
    conversations: Conversations, conversation_id: str, records: Iterable[TurnRecord]
) -> dict[str, bool]:
    """Return turn id -> whether the answer helped the user of the page.

    Turns without feedback are left out, like those that have been answered again since.
    """
    latest = _find_latest(conversations.read_feedback(conversation_id))
    thumbs = {}
    for record in records:
        row = latest.get((record.turn_id, USER))
        if row and row["answer"] == record.answer.text:
            thumbs[record.turn_id] = bool(row["score"])
    return thumbs


def _find_latest(rows: Iterable[Row]) -> dict[tuple[str, str], Row]:
    return {(row["turn_id"], row["annotator"]): row for row in rows}


def _make_conversations(conversations: Conversations, rows: Collection[Row]) -> Iterator[Row]:
    """Yield the conversations with feedback; a turn's answer is its correction, or one that helped.

    A turn without either has an empty answer.
    """
    answers = _find_good_answers(rows)
    for id in dict.fromkeys(row["conversation_id"] for row in rows):
        turns = []
        for record in conversations.records(id):
            answer = answers.get(record.turn_id, "")
            turns.append(
                {"id": record.turn_id, "question": record.original_query, "answer": answer}
            )
        yield {"id": id, "turns": turns}


def _find_good_answers(rows: Iterable[Row]) -> dict[str, str]:
    """Return turn id -> the answer that the last annotator corrected or found helpful, or ""."""
    answers = {}
    for row in rows:
        if row["corrected"]:
            answers[row["turn_id"]] = row["corrected"]
        elif row["score"]:
            answers[row["turn_id"]] = strip_citations(row["answer"])
        else:
            answers[row["turn_id"]] = ""
    return answers


def _format_qrels(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a line for each judged passage: it is relevant (1) if most annotators say so."""
    votes = Counter[tuple[str, str]]()
    for row in rows:
        for passage, grade in row["grades"].items():
            votes[row["turn_id"], passage] += 1 if grade else -1
    yield "query-id\tcorpus-id\tscore\n"
    for (turn, passage), balance in votes.items():
        yield f"{turn}\t{passage}\t{int(balance > 0)}\n"
