"""What people say of answers, kept beside their conversations, and the files that are made of it.

A row, which `task=agreement` reads as a rating:

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
from convrag_web.server.openai_requests import FilledText, Text

USER = "user"
"""Who speaks without a name, as the page does."""

Row = dict[str, Any]
Form = Annotated[Literal["ratings", "qrels", "conversations"], Query(description="of the file")]


class Feedback(BaseModel):
    """What somebody says of a turn. Who says something again takes back what they said of it before."""

    helpful: StrictBool
    answer: Text = Field("", description="what the answer should have been")
    wrong: list[str] = Field(
        [], description="ids of found passages that do not belong to the question"
    )
    comment: Text = ""
    annotator: FilledText = Field(USER, max_length=200, description="who says so")


def add_feedback(kept: Conversations, record: TurnRecord, said: Feedback) -> None:
    """Note what is said of a turn. Raises RequestError for a passage that the turn has not found."""
    found = {hit.passage.id for hit in record.hits}
    if unknown := next((each for each in said.wrong if each not in found), None):
        raise RequestError(
            422, f"no passage {unknown!r} was found", param="wrong", code="unknown_passage"
        )
    relevant = record.answer.citations if said.helpful else ()
    row = {
        "turn_id": record.turn_id,
        "criterion": "helpful",
        "score": int(said.helpful),
        "reason": said.comment,
    }
    row |= {"annotator": said.annotator, "when": datetime.now(UTC).isoformat(timespec="seconds")}
    row |= {
        "conversation_id": record.conversation_id,
        "answer": record.answer.text,
        "corrected": said.answer,
    }
    row |= {"grades": dict.fromkeys(relevant, 1) | dict.fromkeys(said.wrong, 0)}
    kept.add_feedback(record.conversation_id, row)


def format_feedback(kept: Conversations, form: str) -> str:
    """Format the last word of each annotator on each turn as a file, see `Form`."""
    rows = _find_last_words(kept.read_feedback()).values()
    if form == "qrels":
        return "".join(_format_qrels(rows))
    return "".join(
        f"{format_json(row)}\n"
        for row in (rows if form == "ratings" else _make_conversations(kept, rows))
    )


def find_thumbs(
    kept: Conversations, conversation_id: str, records: Iterable[TurnRecord]
) -> dict[str, bool]:
    """Turn id -> whether its answer, as it stands now, has helped the user of the page; those that
    were told.
    """
    rows = _find_last_words(kept.read_feedback(conversation_id))
    said = ((each, rows.get((each.turn_id, USER))) for each in records)
    return {
        each.turn_id: bool(row["score"])
        for each, row in said
        if row and row["answer"] == each.answer.text
    }


def _find_last_words(rows: Iterable[Row]) -> dict[tuple[str, str], Row]:
    return {(row["turn_id"], row["annotator"]): row for row in rows}


def _make_conversations(kept: Conversations, rows: Collection[Row]) -> Iterator[Row]:
    """The conversations that something is said of; a turn's answer is the correction, or one that
    helped.
    """
    said = {
        row["turn_id"]: row["corrected"] or strip_citations(row["answer"]) * row["score"]
        for row in rows
    }
    for name in dict.fromkeys(row["conversation_id"] for row in rows):
        asked = [
            {"id": each.turn_id, "question": each.original_query} for each in kept.records(name)
        ]
        yield {"id": name, "turns": [turn | {"answer": said.get(turn["id"], "")} for turn in asked]}


def _format_qrels(rows: Collection[Row]) -> Iterator[str]:
    """A line for each judged passage: relevant (1) where more say so than the opposite."""
    votes = Counter[tuple[str, str]]()
    for row in rows:
        votes.update(
            {(row["turn_id"], passage): 2 * grade - 1 for passage, grade in row["grades"].items()}
        )
    yield "query-id\tcorpus-id\tscore\n"
    yield from (f"{turn}\t{passage}\t{int(votes[turn, passage] > 0)}\n" for turn, passage in votes)
