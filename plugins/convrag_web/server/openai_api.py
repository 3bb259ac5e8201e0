"""OpenAI's protocol: POST /v1/chat/completions and /v1/responses, GET /v1/models and
/v1/models/{id}.
"""

import secrets
import time
from asyncio import to_thread
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from convrag import Message, TurnRecord
from convrag.sdk.tasks.turns import StageFinished, to_turn
from convrag_web.server.chores import answer_chore
from convrag_web.server.citations import CitedReply, SourceLinks
from convrag_web.server.completions import CompletionForm
from convrag_web.server.errors import ERRORS, JsonReply, RequestError
from convrag_web.server.openai_requests import (
    CompletionRequest,
    ModelRequest,
    ResponseRequest,
    make_question,
    pair_messages,
    read_messages,
)
from convrag_web.server.responses import ResponseForm
from convrag_web.server.served_models import ConversationTurns, Earlier, ServedModels
from convrag_web.server.sse import DONE, EVENTS, PING, format_event, start_stream
from convrag_web.server.task import ServeTask
from convrag_web.server.turn_runner import RunningTurn, TurnRunner

ReplyForm = CompletionForm | ResponseForm
MakeForm = Callable[[str, Any], ReplyForm]


def make_router(
    models: ServedModels,
    turns: ConversationTurns,
    runner: TurnRunner,
    limits: ServeTask,
    links: SourceLinks,
) -> APIRouter:
    """Make the routes.

    Args:
        models: by name.
        turns: of the conversations that responses keep.
        runner: runs the turns.
        limits: of a request.
        links: makes the addresses of sources.
    """
    router = APIRouter(prefix="/v1", responses=ERRORS, tags=["OpenAI"])
    started = int(time.time())

    read = partial(read_messages, limits=limits)

    def describe(name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": started, "owned_by": "convrag"}

    def cite(name: str, http: Request, earlier: Earlier) -> CitedReply:
        return CitedReply(
            partial(links.make, str(http.base_url), name), earlier.records, limits.sources == "text"
        )

    async def answer(
        request: ModelRequest,
        http: Request,
        messages: list[Message],
        form: MakeForm,
        earlier: Earlier,
    ) -> Response:
        """Answer without keeping anything; without a search, too, where none is wanted."""
        model, plain = models.choose(request.model)
        chore = None if plain else answer_chore(messages)
        id, stream = secrets.token_hex(12), bool(request.stream)
        if plain or chore is not None:
            work, reply = partial(model.reply, id, messages, chore, stream), CitedReply()
        else:
            hide = model.pipeline.settings.history == "none"
            domain = model.choose_domain(request.domain or earlier.domain)
            question = make_question(
                messages, id, domain, [to_turn(each) for each in earlier.records], hide
            )
            work, reply = partial(model.answer, question, stream), cite(model.name, http, earlier)
        turn = await runner.start(work, lambda: None if plain or chore is not None else model.name)
        return await _send(turn, form(id, request), reply, stream)

    @router.get("/models", response_model=dict[str, Any])
    async def list_models() -> Response:
        """List the models; with a language model, each also without search, as `<model>-plain`."""
        return JsonReply(
            {"object": "list", "data": [describe(name) for name in (*models, *models.plain)]}
        )

    @router.get("/models/{model:path}", response_model=dict[str, Any])
    async def show_model(model: str) -> Response:
        """Show a model."""
        models.choose(model)
        return JsonReply(describe(model))

    @router.post("/chat/completions", response_model=dict[str, Any], responses=EVENTS["responses"])
    async def complete(request: CompletionRequest, http: Request) -> Response:
        """Answer the last message. With `stream` the reply is a stream of chunks, as events."""
        request.model = request.model or next(iter(models))
        return await answer(request, http, read(request.messages), CompletionForm, Earlier())

    @router.post("/responses", response_model=dict[str, Any], responses=EVENTS["responses"])
    async def respond(request: ResponseRequest, http: Request) -> Response:
        """Answer the last message, in a conversation that is kept. With `stream` the reply is a
        stream of events.
        """
        request.model = request.model or next(iter(models))
        model, plain = models.choose(request.model)
        messages = read(request.list_messages(), param="input")
        previous = request.previous_response_id
        if plain and previous:
            text = "previous_response_id: a model without search keeps nothing: send the messages again"
            raise RequestError(
                400, text, param="previous_response_id", code="unsupported_parameter"
            )
        earlier = Earlier() if previous is None else await to_thread(turns.find_earlier, previous)
        if plain or request.store is False or answer_chore(messages) is not None:
            return await answer(request, http, messages, ResponseForm, earlier)
        *pairs, (question, _) = pair_messages(messages)
        domain = model.choose_domain(request.domain or earlier.domain)
        id = await to_thread(turns.continue_from, earlier, model, domain, pairs)
        number = len(earlier.records) + len(pairs) + 1
        form = ResponseForm(f"{id}.{number}", request, stored=True)
        reply = cite(model.name, http, earlier)
        return await _send(
            await turns.ask(id, question, None, number), form, reply, bool(request.stream)
        )

    return router


async def _send(turn: RunningTurn, form: ReplyForm, reply: CitedReply, stream: bool) -> Response:
    if stream:
        error_name = "error" if isinstance(form, ResponseForm) else ""
        return await start_stream(turn, _format_events(turn, form, reply), error_name)
    record = check_answered(await turn.finish())
    reply.end(record, record.answer.text)
    return JsonReply(form.format_whole(reply, record))


async def _format_events(
    turn: RunningTurn, form: ReplyForm, reply: CitedReply
) -> AsyncIterator[bytes]:
    begun = False
    async for events in turn.batches():
        told: list[dict[str, Any]] = []
        for event in events:
            if isinstance(event, StageFinished):
                reply.note_evidence(event.record)
                continue
            if isinstance(event, TurnRecord):
                if event.error and told:
                    yield _join(told)  # what was said before the turn failed
                check_answered(event)
            told += [] if begun else form.list_first()
            begun = True
            if text := reply.add(event) if isinstance(event, str) else reply.end(event):
                told.append(form.format_piece(text))
            if isinstance(event, TurnRecord):
                told += form.list_last(reply, event)
        if told or not events:
            yield _join(told) or PING
    if isinstance(form, CompletionForm):
        yield DONE


def _join(told: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(format_event(each, each.get("type", "")) for each in told)


def check_answered(record: TurnRecord) -> TurnRecord:
    """Return the record of a turn that was answered. Raises RequestError for one that failed."""
    if record.error:
        raise RequestError(502, f"the turn failed: {record.error}", code="turn_failed")
    return record
