"""The API below /api: conversations that are stored."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import Any

from fastapi import APIRouter
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.responses import Response

from convrag import TurnRecord
from convrag.sdk.data.rows import RecordRow
from convrag.sdk.tasks.turns import ConversationInfo, StageFinished, StageNotice, Stages
from convrag.sdk.text.support import find_unsupported
from convrag_web.server import conversation_schemas as schemas
from convrag_web.server.conversation_export import format_export
from convrag_web.server.conversation_turns import ConversationTurns
from convrag_web.server.document_view import find_passage, get_document_id, show_document
from convrag_web.server.errors import ERRORS, RequestError
from convrag_web.server.feedback import (
    Feedback,
    FeedbackForm,
    add_feedback,
    find_thumbs,
    format_feedback,
)
from convrag_web.server.json_reply import (
    JsonReply,
    JsonText,
    format_json_text,
    format_long_json,
    format_record,
    format_with_records,
    is_long,
)
from convrag_web.server.long_texts import LONG, cut_text
from convrag_web.server.original_file import make_original_address
from convrag_web.server.request_texts import check_length
from convrag_web.server.running_turn import Event, RunningTurn
from convrag_web.server.server_parts import Parts, ServerParts
from convrag_web.server.sse import EVENTS, PING, TurnStream, format_event, start_stream


class ConversationIdConvertor(StringConvertor):
    """A conversation's id in a path.

    It may have slashes, since task=chat takes any name. It ends where the path of a route goes on.
    """

    regex = (
        r"(?:(?!/(?:turns(?:/[^/]*(?:/support|/feedback)?)?"
        r"|regenerate|stop|suggestions|reset|export|document)$).)+"
    )


register_url_convertor("conversation", ConversationIdConvertor())

_CONVERSATION = "/conversations/{conversation_id:conversation}"
_LAST_STAGE = Stages._fields[-1]
_FIRST_MODEL = schemas.NewConversation(model=None, domain=None)
_SAME_QUERY = schemas.RegenerateRequest(query=None, filter=None)
_ERROR_EVENT = "error"

router = APIRouter(prefix="/api", responses=ERRORS, tags=["Conversations"])


@router.get("/conversations", response_model=schemas.ConversationList)
def list_conversations(
    parts: Parts, limit: schemas.ListLimit = 50, offset: schemas.ListOffset = 0
) -> Response:
    """List conversations, the one that was used last first."""
    conversations = parts.conversations.list(limit, offset)
    return JsonReply({"conversations": [describe(info, parts.turns) for info in conversations]})


@router.post("/conversations", status_code=201, response_model=schemas.ConversationInfo)
def begin_conversation(parts: Parts, request: schemas.NewConversation = _FIRST_MODEL) -> Response:
    """Begin a conversation with a model."""
    model = parts.models.find(request.model)
    session = parts.turns.begin(model, model.choose_domain(request.domain))
    return JsonReply(describe(session.describe(), parts.turns), status_code=201)


@router.post(_CONVERSATION + "/turns", **EVENTS)
async def ask(
    parts: Parts, conversation_id: schemas.ConversationId, request: schemas.TurnRequest
) -> Response:
    """Answer a question.

    Events: `stage` with the changed fields of the record, `piece` of the answer, and at the end
    `record`. The turn goes on when the client leaves; `/stop` ends it.
    """
    max_characters = parts.options.max_characters
    check_length(request.question, "question", max_characters)
    check_length(request.query or "", "query", max_characters)
    starting = parts.turns.ask(
        conversation_id, request.question, request.query, filter=request.filter
    )
    return await _stream_shared(parts, conversation_id, request.question, starting)


@router.post(_CONVERSATION + "/regenerate", **EVENTS)
async def regenerate(
    parts: Parts,
    conversation_id: schemas.ConversationId,
    request: schemas.RegenerateRequest = _SAME_QUERY,
) -> Response:
    """Answer the last question again, with the events of a turn; the new turn replaces the last."""
    check_length(request.query or "", "query", parts.options.max_characters)
    starting = parts.turns.regenerate(conversation_id, request.query, request.filter)
    return await _stream_shared(parts, conversation_id, "", starting)


@router.get(_CONVERSATION + "/turns", **EVENTS)
async def follow(parts: Parts, conversation_id: schemas.ConversationId) -> Response:
    """Send the events of the turn in progress, from its first one on."""
    turn = parts.shared_turns.find(conversation_id)
    if turn is None:
        raise RequestError(404, "no turn of this conversation is in progress", code="not_found")
    return await start_stream(turn, turn.read(), _ERROR_EVENT)


@router.post(_CONVERSATION + "/stop", status_code=204)
async def stop(parts: Parts, conversation_id: schemas.ConversationId) -> Response:
    """End the turn in progress, which is not stored, and wait for its end."""
    turn = parts.shared_turns.find(conversation_id)
    if turn:
        turn.stop()
    async with parts.turns.hold(conversation_id):
        return Response(status_code=204)


@router.get(_CONVERSATION + "/turns/{number}", response_model=RecordRow)
def show_turn(
    parts: Parts, conversation_id: schemas.ConversationId, number: schemas.TurnNumber
) -> Response:
    """Show the record of a turn."""
    record = parts.turns.find_record(conversation_id, number)
    return JsonReply(JsonText(format_record(record)))


@router.get(_CONVERSATION + "/turns/{number}/support", response_model=schemas.Support)
def check_support(
    parts: Parts, conversation_id: schemas.ConversationId, number: schemas.TurnNumber
) -> Response:
    """Show which sentences of an answer its passages do not support, by the words in common."""
    spans = find_unsupported(parts.turns.find_record(conversation_id, number))
    return JsonReply({"unsupported": [{"start": start, "end": end} for start, end in spans]})


@router.post(_CONVERSATION + "/turns/{number}/feedback", status_code=204)
def give_feedback(
    parts: Parts,
    conversation_id: schemas.ConversationId,
    number: schemas.TurnNumber,
    feedback: Feedback,
) -> Response:
    """Say whether an answer helped, what it should have been, and which passages are irrelevant."""
    record = parts.turns.find_record(conversation_id, number)
    add_feedback(parts.conversations, record, feedback)
    return Response(status_code=204)


@router.get("/feedback", response_class=Response)
def export_feedback(parts: Parts, form: FeedbackForm = "ratings") -> Response:
    """Download all feedback as ratings, as qrels, or as conversations with reference answers."""
    text = format_feedback(parts.conversations, form)
    return Response(text, media_type="text/plain; charset=utf-8")


@router.post(_CONVERSATION + "/suggestions", response_model=schemas.Suggestions)
async def suggest_questions(parts: Parts, conversation_id: schemas.ConversationId) -> Response:
    """Suggest questions to ask next, by the model's llm; none if it cannot, as llm=extractive."""
    return JsonReply({"questions": await parts.turns.suggest(conversation_id)})


@router.post(_CONVERSATION + "/reset", status_code=204)
async def reset(parts: Parts, conversation_id: schemas.ConversationId) -> Response:
    """Remove the turns of a conversation."""
    async with parts.turns.hold(conversation_id):
        await asyncio.to_thread(parts.turns.find, conversation_id)
        await asyncio.to_thread(parts.conversations.reset, conversation_id)
    return Response(status_code=204)


@router.get(_CONVERSATION + "/export", response_class=Response)
def export(
    parts: Parts,
    conversation_id: schemas.ConversationId,
    format: schemas.ExportFormat = "markdown",
) -> Response:
    """Download a conversation as Markdown or as JSON."""
    described = describe(parts.turns.find(conversation_id).describe(), parts.turns)
    return format_export(described, parts.conversations.records(conversation_id), format)


@router.get(_CONVERSATION + "/document", response_model=schemas.ShownDocument)
def open_document(
    parts: Parts, conversation_id: schemas.ConversationId, passage: schemas.PassageId
) -> Response:
    """Show the document that a passage was cut from, with the passage's place in it."""
    session = parts.turns.find(conversation_id)
    domain, found = find_passage(parts.conversations.records(conversation_id), passage)
    model = parts.turns.find_model(session)
    document = model.find_document(domain, get_document_id(found))
    original = make_original_address(parts, model, domain, document.id)
    return JsonReply({**show_document(document, found), "original": original})


@router.get(_CONVERSATION, response_model=schemas.WholeConversation)
def show_conversation(parts: Parts, conversation_id: schemas.ConversationId) -> Response:
    """Show a conversation with the records of its turns."""
    session = parts.turns.find(conversation_id)
    # Before the records: a turn that ends meanwhile is in both rather than in neither
    turn = parts.shared_turns.find(conversation_id)
    records = parts.conversations.records(conversation_id)
    whole = {
        **describe(session.describe(), parts.turns),
        "in_progress": turn.question if turn else None,
        "helpful": find_thumbs(parts.conversations, conversation_id, records),
    }
    return JsonReply(JsonText(format_with_records(whole, records)))


@router.delete(_CONVERSATION, status_code=204)
async def delete(parts: Parts, conversation_id: schemas.ConversationId) -> Response:
    """Remove a conversation."""
    async with parts.turns.hold(conversation_id):
        await asyncio.to_thread(parts.turns.find, conversation_id)
        await asyncio.to_thread(parts.conversations.delete, conversation_id)
    return Response(status_code=204)


@router.get("/models", response_model=schemas.ServedModelList)
def list_models(parts: Parts) -> Response:
    """List the models with their corpora and example questions; the first is the default."""
    return JsonReply({"models": [model.describe() for model in parts.models.values()]})


def describe(info: ConversationInfo, turns: ConversationTurns) -> dict[str, Any]:
    """Describe a conversation as `schemas.ConversationInfo`."""
    return {
        "id": info.id,
        "title": info.title,
        "domain": info.domain,
        "turns": info.turns,
        "model": turns.name_model(info),
        "open": turns.can_go_on(info),
        "created": info.created.isoformat(),
        "updated": info.updated.isoformat(),
    }


async def _stream_shared(
    parts: ServerParts, id: str, question: str, starting: Awaitable[RunningTurn]
) -> TurnStream:
    """Stream the events of a turn that goes on when the client leaves."""
    turn = parts.shared_turns.add(id, question, _format_events(starting))
    return await start_stream(turn, turn.read(), _ERROR_EVENT)


async def _format_events(starting: Awaitable[RunningTurn]) -> AsyncIterator[bytes]:
    """Yield the events of a turn, formatted; those that are due together come together."""
    turn = await starting
    formatter = _EventFormatter()
    async for events in turn.batches():
        if all(isinstance(event, str) and len(event) <= LONG for event in events):
            yield formatter.format(events) or PING
        else:  # the event loop has other turns
            yield await asyncio.to_thread(formatter.format, events)


class _EventFormatter:
    """Formats the events of a turn."""

    def __init__(self) -> None:
        self._sent_fields: dict[str, Any] = {}

    def format(self, events: Sequence[Event]) -> bytes:
        """Format events that are due together."""
        return b"".join(part for event in events for part in self._format(event))

    def _format(self, event: Event) -> Iterator[bytes]:
        match event:
            case str():
                for part in cut_text(event):
                    yield format_event({"text": part}, "piece")
            case TurnRecord():
                yield format_event(JsonText(format_record(event)), "record")
            case StageNotice():
                yield format_event(event._asdict(), "notice")
            case _ if event.stage != _LAST_STAGE:  # the record follows
                yield self._format_stage(event)

    def _format_stage(self, event: StageFinished) -> bytes:
        """Format the end of a stage, with the fields that differ from those sent."""
        fields = event.record.to_dict()
        changed = {
            name: value
            for name, value in fields.items()
            if name not in self._sent_fields or self._sent_fields[name] != value
        }
        self._sent_fields = fields
        data = {"stage": event.stage, "record": changed}
        text = format_long_json(data) if is_long(event.record) else format_json_text(data)
        return format_event(JsonText(text), "stage")
