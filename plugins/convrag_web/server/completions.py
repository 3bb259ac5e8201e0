"""OpenAI's chat protocol: POST /v1/chat/completions, GET /v1/models, GET /v1/models/{id}."""

import secrets
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter
from starlette.responses import Response

from convrag import Passage, TurnRecord
from convrag.sdk.citations import find_citations
from convrag.sdk.tasks.turns import TurnOptions
from convrag_web.server.errors import ERRORS, JsonReply, RequestError
from convrag_web.server.event_stream import DONE, PING, format_event, start_stream
from convrag_web.server.openai_requests import CompletionRequest, check_lengths, make_question
from convrag_web.server.served_models import ServedModels
from convrag_web.server.turn_runner import RunningTurn, Tell, TurnRunner


def format_model(name: str, created: int) -> dict[str, Any]:
    """A model."""
    return {"id": name, "object": "model", "created": created, "owned_by": "convrag"}


class CompletionFormat:
    """Formats the reply to one request.

    Args:
        id: of the completion.
        model: its name.
        record: whether the reply is to have the record of the turn.
        usage: whether a streamed reply is to tell the tokens, in a chunk of its own.
    """

    def __init__(self, id: str, model: str, *, record: bool, usage: bool) -> None:
        self._head = {"id": id, "created": int(time.time()), "model": model}
        self._with_record = record
        self._with_usage = usage

    def format_whole(self, record: TurnRecord) -> dict[str, Any]:
        """The reply at once."""
        text = record.answer.text
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {
            "index": 0,
            "message": message | {"annotations": list_annotations(text, record)},
            "logprobs": None,
            "finish_reason": _find_reason(record),
        }
        reply = self._head | {"object": "chat.completion", "choices": [choice], "usage": count_tokens(record)}
        return reply | self._format_record(record)

    def format_start(self) -> dict[str, Any]:
        """The first chunk."""
        return self._format_chunk({"role": "assistant", "content": "", "refusal": None})

    def format_piece(self, text: str) -> dict[str, Any]:
        """The chunk of a piece of the answer."""
        return self._format_chunk({"content": text})

    def list_last(self, text: str, record: TurnRecord) -> list[dict[str, Any]]:
        """The chunks after the last piece: annotations, the end with the record, and the tokens, where asked for.

        Args:
            text: all pieces.
            record: of the turn.
        """
        chunks = []
        if annotations := list_annotations(text, record):
            chunks.append(self._format_chunk({"annotations": annotations}))
        chunks.append(self._format_chunk({}, _find_reason(record)) | self._format_record(record))
        if self._with_usage:
            chunks.append(self._format_chunk({}) | {"choices": [], "usage": count_tokens(record)})
        return chunks

    def _format_chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        chunk = self._head | {"object": "chat.completion.chunk", "choices": [choice]}
        return chunk | ({"usage": None} if self._with_usage else {})

    def _format_record(self, record: TurnRecord) -> dict[str, Any]:
        return {"convrag": record.to_dict()} if self._with_record else {}


def count_tokens(record: TurnRecord) -> dict[str, Any]:
    """The usage of a turn in OpenAI's form."""
    usage = record.usage.values()
    prompt, completion = sum(each.prompt_tokens for each in usage), sum(each.completion_tokens for each in usage)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": sum(each.cached_tokens for each in usage)},
    }


def _find_reason(record: TurnRecord) -> str:
    """Why the answer ends where it does, as its language model said."""
    usage = record.usage.get("generator")
    if usage and usage.filtered:
        return "content_filter"
    return "length" if usage and usage.cut else "stop"


def list_annotations(text: str, record: TurnRecord) -> list[dict[str, Any]]:
    """List the annotations of an answer, in order: one for each passage that a mark such as `[1]` or `[1, 2]` cites.

    Args:
        text: the answer as the client gets it; the places of its marks are counted in characters, the end exclusive.
        record: of the turn.
    """
    passages = {item.number: item.passage for item in record.evidence.items}
    return [
        {"type": "url_citation", "url_citation": _describe(passages[number]) | {"start_index": start, "end_index": end}}
        for start, end, numbers in find_citations(text)
        for number in numbers
        if number in passages
    ]


def find_url(passage: Passage) -> str:
    """The address of a passage: its own, if a browser opens it safely, else a URN made of its id.

    `javascript:...`, a link to a client, is left out; `urn:convrag:passage:moon-1` is valid and stable.
    """
    try:
        scheme = urlsplit(passage.url).scheme.lower()
    except ValueError:
        scheme = ""
    if scheme in ("http", "https"):
        return passage.url
    return f"urn:convrag:passage:{quote(passage.id, safe='', errors='replace')}"


def _describe(passage: Passage) -> dict[str, Any]:
    return {"title": passage.name, "url": find_url(passage)}


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

    @router.get("/models", response_model=dict[str, Any])
    async def list_models() -> Response:
        """List the models."""
        return JsonReply({"object": "list", "data": [format_model(name, started) for name in models]})

    @router.get("/models/{model:path}", response_model=dict[str, Any])
    async def show_model(model: str) -> Response:
        """Show a model."""
        return JsonReply(format_model(models.find(model).name, started))

    @router.post("/chat/completions", response_model=dict[str, Any])
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
