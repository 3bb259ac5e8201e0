"""The replies of OpenAI's chat completions: whole, and in chunks."""

import time
from typing import Any

from convrag import TurnRecord
from convrag_web.server.citations import CitedReply
from convrag_web.server.openai_requests import CompletionRequest


class CompletionForm:
    """Formats the reply to one request.

    Args:
        id: of the reply.
        request: that it answers; it names the model, and says whether the record and a chunk with
            tokens are wanted.
    """

    def __init__(self, id: str, request: CompletionRequest) -> None:
        self._head = {"id": f"chatcmpl-{id}", "created": int(time.time()), "model": request.model}
        self._with_record = request.convrag
        self._with_usage = (
            request.stream_options is not None and request.stream_options.include_usage
        )

    def format_whole(self, reply: CitedReply, record: TurnRecord) -> dict[str, Any]:
        """The reply at once."""
        message = {
            "role": "assistant",
            "content": reply.text,
            "refusal": None,
            "annotations": _annotate(reply),
        }
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": find_reason(record),
        }
        whole = self._head | {
            "object": "chat.completion",
            "choices": [choice],
            "usage": count_tokens(record),
        }
        return whole | self._format_record(record)

    def list_first(self) -> list[dict[str, Any]]:
        """The first chunk."""
        return [self._format_chunk({"role": "assistant", "content": "", "refusal": None})]

    def format_piece(self, text: str) -> dict[str, Any]:
        """The chunk of a piece of the answer."""
        return self._format_chunk({"content": text})

    def list_last(self, reply: CitedReply, record: TurnRecord) -> list[dict[str, Any]]:
        """The chunks after the last piece: annotations, the end with the record, and the tokens,
        where asked for.
        """
        chunks = []
        if reply.annotations:
            chunks.append(self._format_chunk({"annotations": _annotate(reply)}))
        chunks.append(self._format_chunk({}, find_reason(record)) | self._format_record(record))
        if self._with_usage:
            chunks.append(self._format_chunk({}) | {"choices": [], "usage": count_tokens(record)})
        return chunks

    def _format_chunk(
        self, delta: dict[str, Any], finish_reason: str | None = None
    ) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        chunk = self._head | {"object": "chat.completion.chunk", "choices": [choice]}
        return chunk | ({"usage": None} if self._with_usage else {})

    def _format_record(self, record: TurnRecord) -> dict[str, Any]:
        return {"convrag": record.to_dict()} if self._with_record else {}


def _annotate(reply: CitedReply) -> list[dict[str, Any]]:
    return [{"type": "url_citation", "url_citation": each} for each in reply.annotations]


def count_tokens(record: TurnRecord) -> dict[str, Any]:
    """The usage of a turn in OpenAI's form."""
    usage = record.usage.values()
    prompt, completion = (
        sum(each.prompt_tokens for each in usage),
        sum(each.completion_tokens for each in usage),
    )
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": sum(each.cached_tokens for each in usage)},
    }


def find_reason(record: TurnRecord) -> str:
    """Why the answer ends where it does, as its language model said."""
    usage = record.usage.get("generator")
    if usage and usage.filtered:
        return "content_filter"
    return "length" if usage and usage.cut else "stop"
