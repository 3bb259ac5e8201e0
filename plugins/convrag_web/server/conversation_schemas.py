"""What the API below /api sends and gets, for the checks of requests and for the OpenAPI
description.
"""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field

from convrag.sdk.data.rows import RecordRow
from convrag_web.server.openai_requests import FilledText

ConversationId = Annotated[str, Path(description="the conversation's id")]
TurnNumber = Annotated[int, Path(ge=1, description="of the turn, counted from 1")]
ListLimit = Annotated[int, Query(ge=1, le=1000, description="conversations at most")]
ListOffset = Annotated[int, Query(ge=0, le=2**31, description="of the first one")]
PassageId = Annotated[
    str, Query(min_length=1, description="of a passage that a turn of the conversation has found")
]
ExportFormat = Annotated[Literal["markdown", "json"], Query(description="of the file")]


class ServedModelInfo(BaseModel):
    """A model: its overrides behind the command's own, its corpora, its llm, and questions of its data set to try.

    `read` is when its data set was read.
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
    """A conversation. Its title is its first question, cut; it is empty before that.

    The model is the one that it goes on with. It is empty where none can, since the conversation
    was begun in the terminal with another configuration. `open` says whether this server can go on
    with it: one about other documents can be read alone.
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
    """A conversation with the records of its turns, and the question of the turn in progress, if there is one.

    That question is empty where the last one is answered again. `helpful` is the feedback without a
    name: turn id -> whether the answer has helped.
    """

    records: list[RecordRow]
    in_progress: str | None
    helpful: dict[str, bool]


class NewConversation(BaseModel):
    """A conversation to begin."""

    model: str | None = Field(None, description="its name; by default the first of GET /api/models")
    domain: str | None = Field(
        None, description="the corpus that it is about, where the model has several"
    )


class RegenerateRequest(BaseModel):
    """The last question, to be answered again."""

    query: FilledText | None = Field(
        None, description="what to search for instead of a rewrite of the question"
    )


class TurnRequest(RegenerateRequest):
    """A question to answer."""

    question: FilledText


class Suggestions(BaseModel):
    """Questions to ask next."""

    questions: list[str]


class ShownHeading(BaseModel):
    """A heading: the character at which its line begins in the text that is sent, its level from 1, and its text."""

    start: int
    level: int
    text: str


class ShownPage(BaseModel):
    """A page: the character at which it begins in the text that is sent, and its number from 1."""

    start: int
    number: int


class Span(BaseModel):
    """A part of the text that is sent: its first character, and the one after its last."""

    start: int
    end: int


class Support(BaseModel):
    """The sentences of an answer that its passages do not support; characters are counted as Unicode's code points."""

    unsupported: list[Span]


class ShownDocument(BaseModel):
    """A document with the place of a passage in it; characters are counted as Unicode's code points.

    Of a very long document, the text around the passage is sent: the characters from `first` to
    `last` of `length`. `passage` is null where the document has changed and the passage is no
    longer in it. `page_name` is what `pages` are called, such as "slide".
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
