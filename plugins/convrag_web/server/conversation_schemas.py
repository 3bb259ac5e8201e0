"""Requests and replies of the API below /api; FastAPI checks the former and describes both."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field

from convrag.sdk.data.rows import RecordRow
from convrag_web.server.request_texts import FilledText, SearchFilter

ConversationId = Annotated[str, Path(description="the conversation's id")]
TurnNumber = Annotated[int, Path(ge=1, description="the turn's number, counted from 1")]
ListLimit = Annotated[int, Query(ge=1, le=1000, description="the largest number of conversations")]
ListOffset = Annotated[int, Query(ge=0, le=2**31, description="conversations to skip")]
PassageId = Annotated[
    str,
    Query(
        min_length=1, description="the id of a passage that a turn of the conversation has found"
    ),
]
ExportFormat = Annotated[Literal["markdown", "json"], Query(description="the format of the file")]


class ServedModelInfo(BaseModel):
    """A model: its overrides of the command, its corpora, its llm, and example questions.

    `read` is the time at which its data set was read.
    """

    id: str
    overrides: list[str]
    domains: list[str]
    llm: str
    examples: list[str]
    read: datetime


class ServedModelList(BaseModel):
    """All models; the first is the default."""

    models: list[ServedModelInfo]


class ConversationInfo(BaseModel):
    """A conversation. Its title is the beginning of its first question; it is empty before that.

    `model` is the one that continues it; empty if none can, since the conversation was begun in the
    terminal with another configuration. `open` says whether this server can continue it; otherwise
    it can only be read.
    """

    id: str
    title: str
    model: str
    domain: str
    turns: int
    open: bool
    created: datetime
    updated: datetime


class ConversationList(BaseModel):
    """Conversations, the one that was used last first."""

    conversations: list[ConversationInfo]


class WholeConversation(ConversationInfo):
    """A conversation with the records of its turns, and the question of the turn in progress.

    That question is null if no turn is in progress, and empty if the last question is answered
    again. `helpful` is the feedback of the page's user: turn id -> whether the answer helped.
    """

    records: list[RecordRow]
    in_progress: str | None
    helpful: dict[str, bool]


class NewConversation(BaseModel):
    """A conversation to begin."""

    model: str | None = Field(None, description="its name; by default the first of GET /api/models")
    domain: str | None = Field(
        None, description="the corpus that it is about, if the model has several"
    )


class RegenerateRequest(BaseModel):
    """The last question, to be answered again."""

    query: FilledText | None = Field(
        None, description="what to search for instead of a rewrite of the question"
    )
    filter: SearchFilter = None


class TurnRequest(RegenerateRequest):
    """A question to answer."""

    question: FilledText


class Suggestions(BaseModel):
    """Questions to ask next."""

    questions: list[str]


class ShownHeading(BaseModel):
    """A heading: where its line begins in the text that is sent, its level from 1, its text."""

    start: int
    level: int
    text: str


class ShownPage(BaseModel):
    """A page: where it begins in the text that is sent, and its number from 1."""

    start: int
    number: int


class Span(BaseModel):
    """A part of the text that is sent, from the character `start` to before the character `end`."""

    start: int
    end: int


class Support(BaseModel):
    """The sentences of an answer that its passages do not support, counted in code points."""

    unsupported: list[Span]


class ShownDocument(BaseModel):
    """A document with the place of a passage in it; characters are counted in code points.

    Of a very long document, the text around the passage is sent: the characters from `first` to
    `last` of `length`. `passage` is null if the document has changed and the passage is no longer
    in it. `page_name` is the name of `pages`, such as "slide". `original` is the address of the
    document's file, relative to the server's; null if the server does not show it.
    """

    id: str
    title: str
    url: str
    text: str
    first: int
    last: int
    length: int
    headings: list[ShownHeading]
    pages: list[ShownPage]
    page_name: str
    passage: Span | None
    original: str | None
