"""OpenAI's chat protocol: POST /v1/chat/completions, GET /v1/models, GET /v1/models/{id}."""

import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from convrag import TurnRecord
from convrag.sdk.tasks.turns import TurnOptions
from convrag_web.server import openai_replies
from convrag_web.server.errors import ERRORS, RequestError
from convrag_web.server.event_stream import DONE, PING, format_event, start_stream
from convrag_web.server.json_reply import JsonReply
from convrag_web.server.openai_replies import CompletionFormat
from convrag_web.server.openai_requests import CompletionRequest, check_lengths, make_question
from convrag_web.server.served_models import ServedModels
from convrag_web.server.turn_runner import RunningTurn, Tell, TurnRunner


def make_router(models: ServedModels, runner: TurnRunner, max_messages: int, max_characters: int) -> APIRouter:
    """Make the routes.

    Args:
        models: by name.
        runner: runs the turns.
        max_messages: that a request may have.
        max_characters: that a message may have.
    """
    router = APIRouter(prefix="/v1", responses=ERRORS, tags=["OpenAI"])
    started = int(time.time())

    @router.get("/models", response_class=JsonReply)
    async def list_models() -> Response:
        """List the models."""
        return JsonReply(openai_replies.format_models(list(models), started))

    @router.get("/models/{model:path}", response_class=JsonReply)
    async def show_model(model: str) -> Response:
        """Show a model."""
        return JsonReply(openai_replies.format_model(models.find(model).name, started))

    @router.post("/chat/completions", response_class=JsonReply)
    async def complete(request: CompletionRequest) -> Response:
        """Answer the last message. With `stream` the reply is a stream of chunks, as events."""
        check_lengths(request.messages, max_messages, max_characters)
        return await _complete(request, models, runner)

    return router


async def _complete(request: CompletionRequest, models: ServedModels, runner: TurnRunner) -> Response:
    model = models.find(request.model)
    id = f"chatcmpl-{secrets.token_hex(12)}"
    question = make_question(
        request.messages,
        conversation_id=id,
        domain=model.choose_domain(request.domain),
        hide_history=model.pipeline.settings.history == "none",
    )

    def answer(tell: Tell) -> TurnRecord:
        return model.pipeline.answer(question, TurnOptions(listener=tell if request.stream else None))

    usage = request.stream_options is not None and request.stream_options.include_usage
    form = CompletionFormat(id, model.name, record=request.convrag, usage=usage)
    turn = await runner.start(answer, lambda: model.name)
    if request.stream:
        return await start_stream(turn, _format_chunks(turn, form))
    try:
        record = await turn.finish()
    finally:
        turn.cancel()
    return JsonReply(form.format_whole(check_answered(record)))


async def _format_chunks(turn: RunningTurn, form: CompletionFormat) -> AsyncIterator[bytes]:
    pieces: list[str] = []
    async for events in turn.batches():
        chunks: list[dict[str, Any]] = []
        for event in events:
            if isinstance(event, TurnRecord) and event.error and chunks:
                yield b"".join(map(format_event, chunks))  # what was said before the turn failed
            if isinstance(event, TurnRecord):
                check_answered(event)
            if not pieces and isinstance(event, str | TurnRecord):
                chunks.append(form.format_start())
            if isinstance(event, str):
                pieces.append(event)
                chunks.append(form.format_piece(event))
            elif isinstance(event, TurnRecord):
                chunks += form.list_last("".join(pieces), event)
        yield b"".join(map(format_event, chunks)) or PING
    yield DONE


def check_answered(record: TurnRecord) -> TurnRecord:
    """Return the record of a turn that was answered. Raises RequestError for one that failed."""
    if record.error:
        raise RequestError(502, f"the turn failed: {record.error}", code="turn_failed")
    return record
