"""The fields of a turn's record as plain data, checked when they are read: people edit and merge such files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from convrag.api.plain_data import describe_first_problem
from convrag.api.records import Usage

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True)
class PassageRow:
    """A retrieved passage with its score; None is a score that was no number."""

    id: str
    score: float | None
    text: str = ""
    title: str = ""
    url: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EvidenceRow:
    """A passage that the model saw; with its texts and metadata where it is not among the retrieved ones.

    `shown` is the text that was shown, where it is not the passage's.
    """

    number: int
    id: str
    hint: bool
    shown: str | None = None
    text: str = ""
    title: str = ""
    url: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SpanRow:
    """A part of the passage with this id, in characters."""

    id: str
    start: int
    end: int


@dataclass(frozen=True)
class SupportRow:
    """A statement of the answer, in characters, and the parts of passages that it rests on."""

    start: int
    end: int
    spans: tuple[SpanRow, ...]


@dataclass(frozen=True)
class QueryRow:
    """A query with its weight; None is a weight that was no number. The other two may be missing."""

    text: str
    weight: float | None
    search: Literal["any", "lexical", "dense"] = "any"
    source: str = ""


@dataclass(frozen=True)
class MessageRow:
    """A message of a prompt."""

    role: str
    content: str


@dataclass(frozen=True)
class RecordRow:
    """A turn. Lines of early versions have no texts of hints, no metadata, and none of those with a default."""

    turn_id: str
    conversation_id: str
    domain: str
    turn: int
    original_query: str
    queries: tuple[QueryRow, ...]
    trace: dict[str, dict[str, Any]]
    contexts: tuple[PassageRow, ...]
    evidence: tuple[EvidenceRow, ...]
    agent_response: str
    citations: tuple[str, ...]
    timings: dict[str, float]
    usage: dict[str, Usage]
    fallbacks: dict[str, str]
    error: str
    labels: dict[str, Any]
    reference: str = ""
    gold: dict[str, int] = field(default_factory=dict)
    prompt: tuple[MessageRow, ...] = ()
    attempt: int = 0
    profile: tuple[str, ...] = ()
    support: tuple[SupportRow, ...] = ()
    replies: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = ()


def check_row(row: Any) -> RecordRow:
    """Check plain data. Raises ValueError, which names the field that is missing or has another form."""
    from pydantic import ValidationError

    try:
        checked: RecordRow = _get_adapter().validate_python(row)
    except ValidationError as error:
        raise ValueError(describe_first_problem(error)) from error
    return checked


@cache
def _get_adapter() -> TypeAdapter[RecordRow]:
    from pydantic import TypeAdapter

    return TypeAdapter(RecordRow)
