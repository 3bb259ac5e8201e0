"""The form of a line of intermediate/, which is checked when it is read: people edit and merge these files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from convrag.api.records import Usage
from convrag.store.strict_json import describe_first_problem, parse_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True)
class PassageRow:
    """A retrieved passage with its score."""

    id: str
    score: float
    text: str = ""
    title: str = ""
    url: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EvidenceRow:
    """A passage that the model saw; with its texts where it is not among the retrieved ones.

    `shown` is the text that was shown, where it is not the passage's.
    """

    number: int
    id: str
    hint: bool
    shown: str | None = None
    text: str = ""
    title: str = ""
    url: str = ""


@dataclass(frozen=True)
class QueryRow:
    """A query with its weight."""

    text: str
    weight: float


@dataclass(frozen=True)
class RecordRow:
    """A turn. Lines of early versions have no texts of hints, and no metadata."""

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
    replies: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = ()


def parse_row(line: str) -> RecordRow:
    """Parse a line. Raises ValueError, which names the field that is missing or has another form."""
    from pydantic import ValidationError

    try:
        row: RecordRow = _get_adapter().validate_python(parse_json(line))
    except ValidationError as error:
        raise ValueError(describe_first_problem(error)) from error
    return row


@cache
def _get_adapter() -> TypeAdapter[RecordRow]:
    from pydantic import TypeAdapter

    return TypeAdapter(RecordRow)
