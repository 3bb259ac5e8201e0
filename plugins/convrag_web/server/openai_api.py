"""OpenAI's protocol: POST /v1/chat/completions and /v1/responses, GET /v1/models and /v1/models/{id}."""

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
from convrag.sdk.tasks.turns import StageFinished, TurnOptions, to_turn
from convrag_web.server.chores import answer_chore
from convrag_web.server.citations import CitedReply, SourceLinks
from convrag_web.server.completions import CompletionForm
from convrag_web.server.errors import ERRORS, JsonReply, RequestError
from convrag_web.server.event_stream import PING, format_event, start_stream
from convrag_web.server.openai_requests import (
    ChatMessage,
    CompletionRequest,
    ResponseRequest,
    make_question,
    pair_messages,
    read_messages,
)
from convrag_web.server.responses import ResponseForm
from convrag_web.server.served_models import ConversationTurns, Earlier, ServedModel, ServedModels
from convrag_web.server.task import ApiOptions, Limits
from convrag_web.server.turn_runner import RunningTurn, Tell, TurnRunner, Work

ReplyForm = CompletionForm | ResponseForm


def make_router(
    models: ServedModels,
    turns: ConversationTurns,
    runner: TurnRunner,
    limits: Limits,
    options: ApiOptions,
    links: SourceLinks,
) -> APIRouter:
    """Make the routes.

    Args:
        models: by name.
        turns: of the conversations that responses keep.
        runner: runs the turns.
        limits: of a request.
        options: what the operator has chosen.
        links: makes the addresses of sources.
    """
    router = APIRouter(prefix="/v1", responses=ERRORS, tags=["OpenAI"])
    started = int(time.time())
    read = partial(read_messages, limits=limits, attachments=options.attachments == "ignore")

    def describe(name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": started, "owned_by": "convrag"}

    def cite(model: ServedModel, http: Request, earlier: Sequence[TurnRecord] = ()) -> CitedReply:
        link = partial(links.make, str(http.base_url), model.name)
        return CitedReply(link, earlier, listed=options.sources == "text")

    @router.get("/models", response_model=dict[str, Any])
    async def list_models() -> Response:
        """List the models; with a language model, each also without search, as `<model>-plain`."""
        return JsonReply({"object": "list", "data": [describe(name) for name in (*models, *models.plain)]})

    @router.get("/models/{model:path}", response_model=dict[str, Any])
    async def show_model(model: str) -> Response:
        """Show a model."""
        models.choose(model)
        return JsonReply(describe(model))

    @router.post("/chat/completions", response_model=dict[str, Any])
    async def complete(request: CompletionRequest, http: Request) -> Response:
        """Answer the last message. With `stream` the reply is a stream of chunks, as events."""
        messages = read(request.messages)
        model, plain = models.choose(request.model)
        id = f"chatcmpl-{secrets.token_hex(12)}"
        usage = request.stream_options is not None and request.stream_options.include_usage
        form = CompletionForm(id, request.model or model.name, record=request.convrag, usage=usage)
        if work := _reply_plainly(model, plain, messages, id, request.stream):
            return await _send(await runner.start(work, lambda: None), form, CitedReply(), request.stream)
        work = _answer(model, messages, id, model.choose_domain(request.domain), request.stream)
        return await _send(await runner.start(work, lambda: model.name), form, cite(model, http), request.stream)

    @router.post("/responses", response_model=dict[str, Any])
    async def respond(request: ResponseRequest, http: Request) -> Response:
        """Answer the last message, in a conversation that is kept. With `stream` the reply is a stream of events."""
        given = [ChatMessage(role="user", content=request.input)] if isinstance(request.input, str) else request.input
        messages = read(given, param="input")
        model, plain = models.choose(request.model)
        id, previous = secrets.token_hex(12), request.previous_response_id
        form = partial(ResponseForm, model=request.model or model.name, request=request)
        instructed = [Message("system", request.instructions)] if request.instructions else []
        if work := _reply_plainly(model, plain, [*instructed, *messages], id, request.stream):
            if previous:
                text = "previous_response_id: a reply without search continues none: send the messages again"
                raise RequestError(400, text, param="previous_response_id", code="unsupported_parameter")
            turn = await runner.start(work, lambda: None)
            return await _send(turn, form(f"resp_{id}", stored=False), CitedReply(), request.stream)
        *pairs, (question, _) = pair_messages(messages)
        earlier = Earlier() if previous is None else await to_thread(turns.find_earlier, previous[len("resp_") :])
        domain = model.choose_domain(request.domain or earlier.domain)
        if stored := request.store is not False:
            id = await to_thread(turns.continue_from, earlier, model, domain, pairs)
            number = len(earlier.records) + len(pairs) + 1
            turn, id = await turns.ask(id, question, None, number), f"{id}.{number}"
        else:
            work = _answer(model, messages, id, domain, request.stream, earlier.records)
            turn = await runner.start(work, lambda: model.name)
        cited = cite(model, http, earlier.records)
        return await _send(turn, form(f"resp_{id}", stored=stored), cited, request.stream)

    return router


async def _send(turn: RunningTurn, form: ReplyForm, reply: CitedReply, stream: bool | None) -> Response:
    if stream:
        return await start_stream(turn, _format_events(turn, form, reply), form.error_name)
    try:
        record = check_answered(await turn.finish())
    finally:
        turn.cancel()
    reply.end(record, record.answer.text)
    return JsonReply(form.format_whole(reply, record))


def _reply_plainly(
    model: ServedModel, plain: bool, messages: Sequence[Message], id: str, stream: bool | None
) -> Work | None:
    """A reply without a search, to what asks for no document, or for the model itself; None for any other request."""
    chore = None if plain else answer_chore(messages)
    if plain:
        pair_messages(messages)
    elif chore is None:
        return None
    return lambda tell: model.reply(id, messages, chore or "", tell if stream else None)


def _answer(
    model: ServedModel,
    messages: Sequence[Message],
    id: str,
    domain: str,
    stream: bool | None,
    earlier: Sequence[TurnRecord] = (),
) -> Work:
    hide = model.pipeline.settings.history == "none"
    history = [to_turn(record) for record in earlier]
    question = make_question(messages, conversation_id=id, domain=domain, hide_history=hide, earlier=history)

    def answer(tell: Tell) -> TurnRecord:
        return model.pipeline.answer(question, TurnOptions(listener=tell if stream else None, stages=bool(stream)))

    return answer


async def _format_events(turn: RunningTurn, form: ReplyForm, reply: CitedReply) -> AsyncIterator[bytes]:
    begun = False
    async for events in turn.batches():
        told: list[dict[str, Any]] = []
        for event in events:
            if isinstance(event, StageFinished):
                reply.note_evidence(event.record)
                continue
            if isinstance(event, TurnRecord) and event.error and told:
                yield _join(told)  # what was said before the turn failed
            if isinstance(event, TurnRecord):
                check_answered(event)
            if not begun:
                told += form.list_first()
                begun = True
            if text := reply.add(event) if isinstance(event, str) else reply.end(event):
                told.append(form.format_piece(text))
            if isinstance(event, TurnRecord):
                told += form.list_last(reply, event)
        if told or not events:
            yield _join(told) or PING
    yield form.last


def _join(told: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(format_event(each, each.get("type", "")) for each in told)


def check_answered(record: TurnRecord) -> TurnRecord:
    """Return the record of a turn that was answered. Raises RequestError for one that failed."""
    if record.error:
        raise RequestError(502, f"the turn failed: {record.error}", code="turn_failed")
    return record
