"""OpenAI's protocol below /v1: chat completions, responses and models."""

import secrets
import time
from asyncio import to_thread
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from convrag import Message, TurnRecord
from convrag.sdk.tasks.turns import StageFinished, to_turn
from convrag_web.server.chores import answer_chore
from convrag_web.server.cited_reply import CitedReply
from convrag_web.server.completions import CompletionForm
from convrag_web.server.errors import ERRORS, RequestError
from convrag_web.server.json_reply import (
    JsonReply,
    JsonText,
    format_json_text,
    format_long_json,
    is_long,
)
from convrag_web.server.long_texts import LONG, cut_text
from convrag_web.server.message_reading import make_question, pair_messages, read_messages
from convrag_web.server.openai_requests import (
    ChatMessage,
    CompletionRequest,
    ModelRequest,
    OtherItem,
    ResponseRequest,
)
from convrag_web.server.reply_form import Json, ReplyForm
from convrag_web.server.response_history import (
    ResponseHistory,
    continue_conversation,
    find_history,
)
from convrag_web.server.responses import ResponseForm
from convrag_web.server.running_turn import Event, RunningTurn
from convrag_web.server.served_model import ServedModel
from convrag_web.server.server_parts import Parts, ServerParts
from convrag_web.server.sse import EVENTS, PING, format_event, start_stream

_STARTED = int(time.time())

router = APIRouter(prefix="/v1", responses=ERRORS, tags=["OpenAI"])


@router.get("/models", response_model=dict[str, Any])
async def list_models(parts: Parts) -> Response:
    """List the models; with a language model, each also without search, as `<model>-plain`."""
    names = [*parts.models, *parts.models.plain]
    return JsonReply({"object": "list", "data": [_describe_model(name) for name in names]})


@router.get("/models/{model:path}", response_model=dict[str, Any])
async def show_model(parts: Parts, model: str) -> Response:
    """Show a model."""
    parts.models.choose(model)
    return JsonReply(_describe_model(model))


@router.post("/chat/completions", response_model=dict[str, Any], responses=EVENTS["responses"])
async def complete(parts: Parts, request: CompletionRequest, http: Request) -> Response:
    """Answer the last message. With `stream` the reply is a stream of chunks, as events."""
    request.model = request.model or parts.models.default_name
    messages = await _read_messages(parts, http, request.messages, "messages")
    id = _make_id()
    form = CompletionForm(id, request)
    return await _answer_unstored(parts, request, http, id, messages, form, ResponseHistory())


@router.post("/responses", response_model=dict[str, Any], responses=EVENTS["responses"])
async def respond(parts: Parts, request: ResponseRequest, http: Request) -> Response:
    """Answer the last message, in a conversation that is stored.

    With `stream` the reply is a stream of events.
    """
    request.model = request.model or parts.models.default_name
    model, without_search = parts.models.choose(request.model)
    messages = await _read_messages(parts, http, request.list_messages(), "input")
    history = await _find_history(parts, request, without_search)
    is_chore = answer_chore(messages) is not None
    if without_search or request.store is False or is_chore:
        id = _make_id()
        form = ResponseForm(id, request)
        return await _answer_unstored(parts, request, http, id, messages, form, history)
    *pairs, (question, _) = pair_messages(messages)
    domain = model.choose_domain(request.domain or history.domain)
    id = await to_thread(continue_conversation, parts.turns, history, model, domain, pairs)
    number = len(history.records) + len(pairs) + 1
    form = ResponseForm(f"{id}.{number}", request, stored=True)
    reply = _make_cited_reply(parts, model, http, history)
    turn = await parts.turns.ask(id, question, None, filter=request.filter, number=number)
    return await _send(turn, form, reply, bool(request.stream))


async def _read_messages(
    parts: ServerParts, http: Request, messages: Sequence[ChatMessage | OtherItem], param: str
) -> list[Message]:
    """Read the messages of a request; long ones outside the event loop."""
    length = int(http.headers.get("content-length", LONG))
    if length < LONG:
        return read_messages(messages, parts.options, param)
    return await to_thread(read_messages, messages, parts.options, param)


def _make_id() -> str:
    return secrets.token_hex(12)


def _describe_model(name: str) -> Json:
    return {"id": name, "object": "model", "created": _STARTED, "owned_by": "convrag"}


async def _find_history(
    parts: ServerParts, request: ResponseRequest, without_search: bool
) -> ResponseHistory:
    """Find the turns that a request continues. Raises RequestError."""
    previous = request.previous_response_id
    if previous and without_search:
        raise RequestError(
            400,
            "previous_response_id: a model without search keeps nothing: send the messages again",
            param="previous_response_id",
            code="unsupported_parameter",
        )
    if previous is None:
        return ResponseHistory()
    return await to_thread(find_history, parts.turns, previous)


async def _answer_unstored(
    parts: ServerParts,
    request: ModelRequest,
    http: Request,
    id: str,
    messages: Sequence[Message],
    form: ReplyForm,
    history: ResponseHistory,
) -> Response:
    """Answer without storing anything; chores and models without search are not turns."""
    model, without_search = parts.models.choose(request.model)
    chore = None if without_search else answer_chore(messages)
    stream = bool(request.stream)
    if without_search or chore is not None:
        reply_without_search = partial(model.reply, id, messages, chore, stream)
        turn = await parts.runner.start(reply_without_search, lambda: None)
        return await _send(turn, form, CitedReply(), stream)
    question = make_question(
        messages,
        id,
        model.choose_domain(request.domain or history.domain),
        [to_turn(record) for record in history.records],
        hide_history=model.pipeline.settings.history == "none",
    )
    answer = partial(model.answer, question, request.filter, stream)
    turn = await parts.runner.start(answer, lambda: model.name)
    return await _send(turn, form, _make_cited_reply(parts, model, http, history), stream)


def _make_cited_reply(
    parts: ServerParts, model: ServedModel, http: Request, history: ResponseHistory
) -> CitedReply:
    link = partial(parts.links.make, str(http.base_url), model.name)
    return CitedReply(link, history.records, listed=parts.options.sources == "text")


async def _send(turn: RunningTurn, form: ReplyForm, reply: CitedReply, stream: bool) -> Response:
    """Send the reply to a turn, as events or at once."""
    if stream:
        return await start_stream(turn, format_events(turn, form, reply), form.error_name)
    record = await turn.finish()
    check_answered(record)
    return await to_thread(_format_whole, form, reply, record)


def _format_whole(form: ReplyForm, reply: CitedReply, record: TurnRecord) -> JsonReply:
    """Format the reply to a turn at once."""
    reply.end(record, record.answer.text)
    whole = form.format_whole(reply, record)
    return JsonReply(JsonText(format_long_json(whole)) if is_long(record) else whole)


async def format_events(
    turn: RunningTurn, form: ReplyForm, reply: CitedReply
) -> AsyncIterator[bytes]:
    """Yield the events of a turn, formatted; those that are due together come together.

    Raises:
        RequestError: the turn failed.
    """
    formatter = _EventFormatter(form, reply)
    async for events in turn.batches():
        if _takes_long(events):  # the event loop has other turns
            chunks = await to_thread(formatter.format, events)
        else:
            chunks = formatter.format(events)
        for chunk in chunks:
            yield chunk
        if events and isinstance(events[-1], TurnRecord):
            check_answered(events[-1])
        if not chunks and not events:
            yield PING
    if form.ending:
        yield form.ending


def _takes_long(events: Sequence[Event]) -> bool:
    """Return whether formatting events takes long: long pieces, and the end of a reply."""
    return any(
        isinstance(event, TurnRecord) or (isinstance(event, str) and len(event) > LONG)
        for event in events
    )


class _EventFormatter:
    """Formats the events of a turn in the form of a reply.

    Args:
        form: the form of the reply.
        reply: collects the answer.
    """

    def __init__(self, form: ReplyForm, reply: CitedReply) -> None:
        self._form = form
        self._reply = reply
        self._begun = False
        self._formatted: list[Json] = []

    def format(self, events: Sequence[Event]) -> list[bytes]:
        """Format events, long ones each for itself. The record of a failed turn adds nothing."""
        for event in events:
            self._add(event)
        chunks: list[bytes] = []
        short: list[bytes] = []
        for each in self._formatted:
            text = format_long_json(each) if self._reply.is_long else format_json_text(each)
            formatted = format_event(JsonText(text), each.get("type", ""))
            short.append(formatted)
            if len(formatted) > LONG:
                chunks.append(b"".join(short))
                short = []
        self._formatted = []
        if short:
            chunks.append(b"".join(short))
        return chunks

    def _add(self, event: Event) -> None:
        match event:
            case StageFinished():
                self._reply.note_evidence(event.record)
            case str():
                self._begin()
                self._add_piece(self._reply.add(event))
            case TurnRecord() if not event.error:
                self._begin()
                self._add_piece(self._reply.end(event))
                self._formatted += self._form.list_last(self._reply, event)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._formatted += self._form.list_first()

    def _add_piece(self, text: str) -> None:
        self._formatted += [self._form.format_piece(part) for part in cut_text(text)]


def check_answered(record: TurnRecord) -> None:
    """Raise RequestError for a turn that failed."""
    if record.error:
        raise RequestError(502, f"the turn failed: {record.error}", code="turn_failed")
