"""Conversations that are kept: the API below /api."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.responses import Response

from convrag import Document, Passage, TurnRecord
from convrag.sdk.data.rows import RecordRow
from convrag.sdk.data.transcript import format_transcript
from convrag.sdk.tasks.turns import ConversationInfo, Stages
from convrag.sdk.text.support import find_unsupported
from convrag_web.server import conversation_schemas as schemas
from convrag_web.server.errors import ERRORS, JsonReply, RequestError
from convrag_web.server.feedback import Feedback, Form, add_feedback, find_thumbs, format_feedback
from convrag_web.server.openai_requests import check_length
from convrag_web.server.served_models import ConversationTurns, ServedModels
from convrag_web.server.sse import EVENTS, PING, SharedTurn, TurnStream, format_event, start_stream
from convrag_web.server.turn_runner import RunningTurn


class ConversationIdConvertor(StringConvertor):
    """An id in a path. It may have slashes, since task=chat takes any name; it ends where a route goes on."""

    regex = r"(?:(?!/(?:turns(?:/[^/]*(?:/support|/feedback)?)?|regenerate|stop|suggestions|reset|export|document)$).)+"


register_url_convertor("conversation", ConversationIdConvertor())
_ONE = "/conversations/{conversation_id:conversation}"
_LAST_STAGE = Stages._fields[-1]
_FIRST_MODEL = schemas.NewConversation(model=None, domain=None)
_SAME_QUERY = schemas.RegenerateRequest(query=None)


def make_router(models: ServedModels, turns: ConversationTurns, max_characters: int) -> APIRouter:
    """Make the routes.

    Args:
        models: by name.
        turns: of the conversations.
        max_characters: that a question may have.
    """
    router = APIRouter(prefix="/api", responses=ERRORS, tags=["Conversations"])
    conversations = turns.conversations
    shared: list[SharedTurn] = []  # of a conversation, the first one is in progress

    def find_shared(id: str) -> SharedTurn | None:
        return next((turn for turn in shared if turn.conversation == id), None)

    async def share(id: str, question: str, starting: Awaitable[RunningTurn]) -> TurnStream:
        turn = SharedTurn(id, question, _format_events(starting))
        shared.append(turn)
        turn.task.add_done_callback(lambda _: shared.remove(turn))
        return await start_stream(turn, turn.read(), "error")

    @router.get("/conversations", response_model=schemas.ConversationList)
    def list_conversations(
        limit: schemas.ListLimit = 50, offset: schemas.ListOffset = 0
    ) -> Response:
        """List conversations, the one that was used last first."""
        found = conversations.list(limit, offset)
        return JsonReply({"conversations": [_describe(info, turns) for info in found]})

    @router.post("/conversations", status_code=201, response_model=schemas.ConversationInfo)
    def begin_conversation(request: schemas.NewConversation = _FIRST_MODEL) -> Response:
        """Begin a conversation with a model."""
        model = models.find(request.model)
        session = turns.begin(model, model.choose_domain(request.domain))
        return JsonReply(_describe(session.describe(), turns), status_code=201)

    @router.post(_ONE + "/turns", **EVENTS)
    async def ask(
        conversation_id: schemas.ConversationId, request: schemas.TurnRequest
    ) -> Response:
        """Answer a question. Events: `stage` with what it has changed, `piece` of the answer, at
        the end `record`.

        The turn goes on when the client leaves; `/stop` ends it.
        """
        for name, text in (("question", request.question), ("query", request.query or "")):
            check_length(text, name, max_characters)
        starting = turns.ask(conversation_id, request.question, request.query)
        return await share(conversation_id, request.question, starting)

    @router.post(_ONE + "/regenerate", **EVENTS)
    async def regenerate(
        conversation_id: schemas.ConversationId, request: schemas.RegenerateRequest = _SAME_QUERY
    ) -> Response:
        """Answer the last question again, with the events of a turn; the new turn takes the place
        of the last one.
        """
        check_length(request.query or "", "query", max_characters)
        return await share(conversation_id, "", turns.regenerate(conversation_id, request.query))

    @router.get(_ONE + "/turns", **EVENTS)
    async def follow(conversation_id: schemas.ConversationId) -> Response:
        """Send the events of the turn in progress, from its first one on."""
        if (turn := find_shared(conversation_id)) is None:
            raise RequestError(404, "no turn of this conversation is in progress", code="not_found")
        return await start_stream(turn, turn.read(), "error")

    @router.post(_ONE + "/stop", status_code=204)
    async def stop(conversation_id: schemas.ConversationId) -> Response:
        """End the turn in progress, which is not kept, and wait for its end."""
        if turn := find_shared(conversation_id):
            turn.task.cancel()
        async with turns.hold(conversation_id):
            return Response(status_code=204)

    def find_record(conversation_id: str, number: int) -> TurnRecord:
        turns.find(conversation_id)
        records = conversations.records(conversation_id)
        if number > len(records):
            raise RequestError(404, "there is no such turn", code="not_found")
        return records[number - 1]

    @router.get(_ONE + "/turns/{number}", response_model=RecordRow)
    def show_turn(conversation_id: schemas.ConversationId, number: schemas.TurnNumber) -> Response:
        """Show the record of a turn."""
        return JsonReply(find_record(conversation_id, number).to_dict())

    @router.get(_ONE + "/turns/{number}/support", response_model=schemas.Support)
    def check_support(
        conversation_id: schemas.ConversationId, number: schemas.TurnNumber
    ) -> Response:
        """Show which sentences of a turn's answer its passages do not support, by the words in
        common.
        """
        spans = find_unsupported(find_record(conversation_id, number))
        return JsonReply({"unsupported": [{"start": start, "end": end} for start, end in spans]})

    @router.post(_ONE + "/turns/{number}/feedback", status_code=204)
    def give_feedback(
        conversation_id: schemas.ConversationId, number: schemas.TurnNumber, said: Feedback
    ) -> Response:
        """Say whether an answer helped, what it should have been, and which passages do not belong
        to the question.
        """
        add_feedback(conversations, find_record(conversation_id, number), said)
        return Response(status_code=204)

    @router.get("/feedback", response_class=Response)
    def export_feedback(form: Form = "ratings") -> Response:
        """Download all feedback: as ratings, as qrels of the passages, or as conversations with
        references.
        """
        return Response(
            format_feedback(conversations, form), media_type="text/plain; charset=utf-8"
        )

    @router.post(_ONE + "/suggestions", response_model=schemas.Suggestions)
    async def suggest_questions(conversation_id: schemas.ConversationId) -> Response:
        """Suggest questions to ask next, by the model's llm; none where it cannot, as
        llm=extractive.
        """
        return JsonReply({"questions": await turns.suggest(conversation_id)})

    @router.post(_ONE + "/reset", status_code=204)
    async def reset(conversation_id: schemas.ConversationId) -> Response:
        """Remove the turns of a conversation."""
        async with turns.hold(conversation_id):
            await asyncio.to_thread(turns.find, conversation_id)
            await asyncio.to_thread(conversations.reset, conversation_id)
        return Response(status_code=204)

    @router.get(_ONE + "/export", response_class=Response)
    def export(
        conversation_id: schemas.ConversationId, format: schemas.ExportFormat = "markdown"
    ) -> Response:
        """Download a conversation as Markdown or as JSON."""
        described = _describe(turns.find(conversation_id).describe(), turns)
        return format_export(described, conversations.records(conversation_id), format)

    @router.get(_ONE + "/document", response_model=schemas.ShownDocument)
    def open_document(
        conversation_id: schemas.ConversationId, passage: schemas.PassageId
    ) -> Response:
        """Show the document that a passage of the conversation was cut from, with the passage's
        place in it.
        """
        session = turns.find(conversation_id)
        domain, found = find_passage(conversations.records(conversation_id), passage)
        document = turns.find_model(session).find_document(domain, get_document_id(found))
        return JsonReply(show_document(document, found))

    @router.get(_ONE, response_model=schemas.WholeConversation)
    def show_conversation(conversation_id: schemas.ConversationId) -> Response:
        """Show a conversation with the records of its turns."""
        session = turns.find(conversation_id)
        turn = find_shared(
            conversation_id
        )  # before the records: who ends meanwhile is in both, rather than in none
        records = conversations.records(conversation_id)
        told: dict[str, Any] = {
            "records": [each.to_dict() for each in records],
            "in_progress": turn and turn.question,
        }
        told["helpful"] = find_thumbs(conversations, conversation_id, records)
        return JsonReply(_describe(session.describe(), turns) | told)

    @router.delete(_ONE, status_code=204)
    async def delete(conversation_id: schemas.ConversationId) -> Response:
        """Remove a conversation."""
        async with turns.hold(conversation_id):
            await asyncio.to_thread(turns.find, conversation_id)
            await asyncio.to_thread(conversations.delete, conversation_id)
        return Response(status_code=204)

    @router.get("/models", response_model=schemas.ServedModelList)
    def list_models() -> Response:
        """List the models, each with what belongs to it; the first is the default."""
        return JsonReply({"models": [model.describe() for model in models.values()]})

    return router


async def _format_events(starting: Awaitable[RunningTurn]) -> AsyncIterator[bytes]:
    turn = await starting
    told: dict[str, Any] = {}
    async for events in turn.batches():
        formatted = []
        for event in events:
            if isinstance(event, str):
                formatted.append(format_event({"text": event}, "piece"))
            elif isinstance(event, TurnRecord):
                formatted.append(format_event(event.to_dict(), "record"))
            elif event.stage != _LAST_STAGE:  # the record follows
                fields = event.record.to_dict()
                changed = {
                    name: value
                    for name, value in fields.items()
                    if name not in told or told[name] != value
                }
                formatted.append(format_event({"stage": event.stage, "record": changed}, "stage"))
                told = fields
        yield b"".join(formatted) or PING


def _describe(info: ConversationInfo, turns: ConversationTurns) -> dict[str, Any]:
    told = {name: getattr(info, name) for name in ("id", "title", "domain", "turns")}
    times = {"created": info.created.isoformat(), "updated": info.updated.isoformat()}
    return {**told, "model": turns.name_model(info), "open": turns.can_go_on(info), **times}


def format_export(
    conversation: Mapping[str, Any], records: Sequence[TurnRecord], format: str
) -> Response:
    """Format a conversation as a download.

    Args:
        conversation: its id, title and so on.
        records: of its turns.
        format: "json" or "markdown".
    """
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", conversation["id"])[:80].strip("._") or "conversation"
    name = f"{stem}.{'json' if format == 'json' else 'md'}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if format == "json":
        whole = {**conversation, "records": [record.to_dict() for record in records]}
        return JsonReply(whole, headers=headers)
    text = format_transcript(conversation["title"] or conversation["id"], records)
    return Response(
        text.encode("utf-8", "replace"), media_type="text/markdown; charset=utf-8", headers=headers
    )


LONGEST = 1_000_000
"""Characters of a document that are sent; of a longer one, those around the passage."""


def find_passage(records: Sequence[TurnRecord], passage_id: str) -> tuple[str, Passage]:
    """Find a passage that a conversation's newest turn with it has found or shown, and the domain
    of that turn.

    Raises:
        RequestError: no turn has it.
    """
    for record in reversed(records):
        shown = (
            *(hit.passage for hit in record.hits),
            *(item.passage for item in record.evidence.items),
        )
        if found := next((each for each in shown if each.id == passage_id), None):
            return record.domain, found
    raise RequestError(
        404, "no turn of this conversation has such a passage", param="passage", code="not_found"
    )


def get_document_id(passage: Passage) -> str:
    """Return the id of the document that a passage was cut from. Raises RequestError where it was
    cut from none.
    """
    document_id = passage.metadata.get("document")
    if not isinstance(document_id, str):
        raise RequestError(
            404, "this passage was not cut from a document", param="passage", code="no_document"
        )
    return document_id


def show_document(document: Document, passage: Passage) -> dict[str, Any]:
    """Show a document as `schemas.ShownDocument`: its text, and where the passage stands in it
    today.
    """
    length = len(document.text)
    span = _find_span(document.text, passage)
    middle = span[0] if span else 0
    first = max(0, min(middle - LONGEST // 2, length - LONGEST))
    last = min(length, first + LONGEST)
    numbered = enumerate(document.pages, 1)
    told = {name: getattr(document, name) for name in ("id", "title", "url", "page_name")}
    return told | {
        "text": document.text[first:last],
        "first": first,
        "last": last,
        "length": length,
        "headings": [
            asdict(at) | {"start": at.start - first}
            for at in document.headings
            if first <= at.start < last
        ],
        "pages": [
            {"start": at - first, "number": number} for number, at in numbered if first <= at < last
        ],
        "passage": {"start": span[0] - first, "end": min(span[1], last) - first} if span else None,
    }


def _find_span(text: str, passage: Passage) -> tuple[int, int] | None:
    """Find a passage in the text of its document, which may have changed since; None where it has
    no such text.
    """
    start, end = passage.metadata.get("start"), passage.metadata.get("end")
    if (
        isinstance(start, int)
        and isinstance(end, int)
        and 0 <= start < end
        and text[start:end] == passage.text
    ):
        return start, end
    found = text.find(passage.text) if passage.text else -1
    return (found, found + len(passage.text)) if found >= 0 else None
