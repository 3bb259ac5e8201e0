"""A turn's record as JSON, a line of intermediate/, and back.

The fields of a row are checked, since people edit such files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cache
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, Literal

from convrag.api.answers import Answer, PassageSpan, Support
from convrag.api.completions import Completion, Message, Prompt, Usage
from convrag.api.errors import ConfigError
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.filter_parser import parse_filter
from convrag.api.filters import Filter
from convrag.api.passages import Hit, Passage
from convrag.api.queries import Query

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True, kw_only=True)
class PassageRow:
    """A passage; in the evidence, a retrieved passage has neither texts nor metadata."""

    id: str
    text: str = ""
    title: str = ""
    url: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class HitRow(PassageRow):
    """A retrieved passage with its score; None stands for NaN."""

    score: float | None


@dataclass(frozen=True, kw_only=True)
class EvidenceRow(PassageRow):
    """A passage that the model saw; `shown` is the text, if it differs from the passage's."""

    number: int
    hint: bool
    shown: str | None = None


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
    """A query with its weight; None stands for NaN."""

    text: str
    weight: float | None
    search: Literal["any", "lexical", "dense"] = "any"
    source: str = ""
    filter: str = ""


@dataclass(frozen=True)
class MessageRow:
    """A message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class RecordRow:
    """A turn; the fields with a default may be missing."""

    turn_id: str
    conversation_id: str
    domain: str
    turn: int
    original_query: str
    queries: tuple[QueryRow, ...]
    trace: dict[str, dict[str, Any]]
    contexts: tuple[HitRow, ...]
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


_SHARED_FIELDS = (
    *("conversation_id", "turn_id", "domain", "original_query"),
    *("trace", "timings", "usage", "fallbacks", "error"),
    *("labels", "reference", "gold", "attempt", "profile"),
)
"""The fields that a row and a record have in common."""


@cache
def _get_adapter() -> TypeAdapter[RecordRow]:
    from pydantic import TypeAdapter

    return TypeAdapter(RecordRow)


def format_record(record: Any, *, replies: bool = False) -> dict[str, Any]:
    """Format a record as plain data; `TurnRecord.to_dict` explains it."""
    row = {
        "turn_id": record.turn_id,
        "conversation_id": record.conversation_id,
        "domain": record.domain,
        "turn": record.number,
        "original_query": record.original_query,
        "rewritten_query": record.rewritten_query,
        "queries": [format_query(query) for query in record.queries],
        "trace": make_plain(record.trace),
        "contexts": [
            {
                "id": hit.passage.id,
                "score": make_plain(hit.score),
                **_format_passage(hit.passage),
            }
            for hit in record.hits
        ],
        "evidence": _format_evidence(record),
        "agent_response": record.answer.text,
        "citations": list(record.answer.citations),
        "timings": {stage: round(seconds, 6) for stage, seconds in record.timings.items()},
        "usage": make_plain(record.usage),
        "fallbacks": dict(record.fallbacks),
        "error": record.error,
        "labels": make_plain(record.labels),
        "reference": record.reference,
        "gold": dict(record.gold),
        "prompt": [message._asdict() for message in record.prompt],
        "attempt": record.attempt,
    }
    if record.answer.support:
        row["support"] = [_format_support(each) for each in record.answer.support]
    if record.profile:
        row["profile"] = list(record.profile)
    if replies:
        pairs = [[asdict(prompt), asdict(completion)] for prompt, completion in record.replies]
        row["replies"] = make_plain(pairs)
    return row


def format_query(query: Query) -> dict[str, Any]:
    """Format a query as plain data, without what has its default but text and weight."""
    row = {"text": query.text, "weight": make_plain(query.weight)}
    if query.search != "any":
        row["search"] = query.search
    if query.source:
        row["source"] = query.source
    if query.filter is not None:
        row["filter"] = str(query.filter)
    return row


def parse_record(row: Any) -> dict[str, Any]:
    """Read the fields of a record from plain data; `TurnRecord.from_dict` explains it.

    Raises:
        ValueError: a field is missing or has another form; the message names it.
    """
    from pydantic import ValidationError

    try:
        checked = _get_adapter().validate_python(row)
    except ValidationError as error:
        raise ValueError(describe_first_problem(error)) from error
    hits = tuple(Hit(_make_passage(each), _read_number(each.score)) for each in checked.contexts)
    support = tuple(_parse_support(each) for each in checked.support)
    fields = {name: getattr(checked, name) for name in _SHARED_FIELDS}
    return {
        **fields,
        "number": checked.turn,
        "queries": tuple(_parse_query(each, checked) for each in checked.queries),
        "hits": hits,
        "evidence": Evidence(_parse_evidence(checked.evidence, hits)),
        "answer": Answer(checked.agent_response, checked.citations, support=support),
        "prompt": tuple(Message(message.role, message.content) for message in checked.prompt),
        "replies": tuple(_parse_reply(*reply) for reply in checked.replies),
    }


def _parse_query(row: QueryRow, record: RecordRow) -> Query:
    weight = _read_number(row.weight)
    condition = _parse_filter(row.filter)
    return Query(row.text, weight, record.turn_id, record.domain, row.search, row.source, condition)


def _parse_filter(text: str) -> Filter | None:
    """Parse the filter of a query. Raises ValueError where the text is none."""
    try:
        return parse_filter(text) if text else None
    except ConfigError as error:
        raise ValueError(f"queries.filter: {error}") from error


def _parse_evidence(rows: Iterable[EvidenceRow], hits: Sequence[Hit]) -> tuple[EvidenceItem, ...]:
    """Read the evidence; a passage that is among the hits has its texts and its score there."""
    passages = {hit.passage.id: hit.passage for hit in hits}
    scores = {hit.passage.id: hit.score for hit in reversed(hits)}
    items: list[EvidenceItem] = []
    for row in rows:
        passage = passages.get(row.id) or _make_passage(row)
        shown = passage.text if row.shown is None else row.shown
        items.append(EvidenceItem(row.number, passage, shown, row.hint, scores.get(row.id)))
    return tuple(items)


def _parse_support(row: SupportRow) -> Support:
    spans = tuple(PassageSpan(span.id, span.start, span.end) for span in row.spans)
    return Support(row.start, row.end, spans)


def _format_support(support: Support) -> dict[str, Any]:
    spans = [
        {"id": span.passage_id, "start": span.start, "end": span.end} for span in support.spans
    ]
    return {"start": support.start, "end": support.end, "spans": spans}


def _format_evidence(record: Any) -> list[dict[str, Any]]:
    """Format the evidence by passage id, with the texts of passages that are not among the hits."""
    retrieved = {hit.passage.id for hit in record.hits}
    rows: list[dict[str, Any]] = []
    for item in record.evidence.items:
        row = {"number": item.number, "id": item.passage.id, "hint": item.hint}
        if item.passage.id not in retrieved:
            row |= _format_passage(item.passage)
        if item.text != item.passage.text:
            row["shown"] = item.text
        rows.append(row)
    return rows


def _format_passage(passage: Passage) -> dict[str, Any]:
    """Format the fields of a passage other than its id."""
    row: dict[str, Any] = {"title": passage.title, "text": passage.text, "url": passage.url}
    if passage.metadata:
        row["metadata"] = make_plain(passage.metadata)
    return row


def _make_passage(row: PassageRow) -> Passage:
    return Passage(row.id, row.text, row.title, row.url, row.metadata)


def _read_number(value: float | None) -> float:
    return nan if value is None else value


def _parse_reply(
    prompt: Mapping[str, Any], completion: Mapping[str, Any]
) -> tuple[Prompt, Completion]:
    """Parse a prompt with its reply. Raises ValueError for fields that they do not have."""
    try:
        messages = tuple(Message(*message) for message in prompt["messages"])
        return Prompt(**{**prompt, "messages": messages}), Completion(**completion)
    except (KeyError, TypeError) as error:
        raise ValueError(f"replies: {error}") from error


MOST_DIGITS = 300
"""The digits of the largest whole numbers; beyond some 308 they do not fit a float."""

_FIRST_TOO_LARGE = 10**MOST_DIGITS

_DEEPEST = 50
"""The levels that are kept of data which contain themselves."""


def make_plain(value: Any, depth: int = _DEEPEST) -> Any:
    """Convert any value to plain data.

    Numbers that are NaN, infinite or too large become None. Arrays, numbers of numpy, mappings,
    sets and dataclasses become plain data, anything else becomes text. Levels below `depth` are
    left out.
    """
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, int):
        return value if -_FIRST_TOO_LARGE < value < _FIRST_TOO_LARGE else None
    if value is None or isinstance(value, str):
        return value
    if not depth:
        return "..."
    if isinstance(value, Mapping):
        items = value.items()
        return {
            key if isinstance(key, str) else str(key): make_plain(item, depth - 1)
            for key, item in items
        }
    if isinstance(value, list | tuple):
        return [make_plain(item, depth - 1) for item in value]
    return make_plain(convert_object(value), depth - 1)


def convert_object(value: Any) -> Any:
    """Convert an object that JSON does not know to a list, a dictionary, a number, or text.

    The values in it stay as they are.
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return str(value)


def describe_first_problem(error: ValidationError) -> str:
    """Describe pydantic's first problem: "contexts.0.score: Input should be a valid number"."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else str(first["msg"])
