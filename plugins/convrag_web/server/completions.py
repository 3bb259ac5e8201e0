"""The replies of OpenAI's chat completions: whole, and in chunks."""

import time
from typing import Any

from convrag import TurnRecord
from convrag_web.server.cited_reply import CitedReply
from convrag_web.server.openai_requests import CompletionRequest
from convrag_web.server.reply_form import Json, ReplyForm, count_tokens, find_finish_reason
from convrag_web.server.sse import DONE


class CompletionForm(ReplyForm):
    """Formats the reply to one request of chat completions.

    Args:
        id: the id of the reply.
        request: the request. It names the model, and says whether the record and a chunk with
            token counts are wanted.
    """

    ending = DONE

    def __init__(self, id: str, request: CompletionRequest) -> None:
        self._head = {"id": f"chatcmpl-{id}", "created": int(time.time()), "model": request.model}
        self._with_record = request.convrag
        options = request.stream_options
        self._with_usage = options is not None and options.include_usage

    def format_whole(self, reply: CitedReply, record: TurnRecord) -> Json:
        """Format the reply at once."""
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
            "finish_reason": find_finish_reason(record),
        }
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": count_tokens(record),
            **self._format_record(record),
        }

    def list_first(self) -> list[Json]:
        """List the first chunk."""
        return [self._format_chunk({"role": "assistant", "content": "", "refusal": None})]

    def format_piece(self, text: str) -> Json:
        """Format the chunk of a piece of the answer."""
        return self._format_chunk({"content": text})

    def list_last(self, reply: CitedReply, record: TurnRecord) -> list[Json]:
        """List the chunks after the last piece: annotations, the end, and tokens if asked for."""
        chunks = []
        if reply.annotations:
            chunks.append(self._format_chunk({"annotations": _annotate(reply)}))
        end = self._format_chunk({}, find_finish_reason(record))
        chunks.append(end | self._format_record(record))
        if self._with_usage:
            usage = {"choices": [], "usage": count_tokens(record)}
            chunks.append(self._format_chunk({}) | usage)
        return chunks

    def _format_chunk(self, delta: Json, finish_reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        chunk: dict[str, Any] = {
            **self._head,
            "object": "chat.completion.chunk",
            "choices": [choice],
        }
        if self._with_usage:
            chunk["usage"] = None
        return chunk

    def _format_record(self, record: TurnRecord) -> Json:
        return {"convrag": record.to_dict()} if self._with_record else {}


def _annotate(reply: CitedReply) -> list[Json]:
    return [{"type": "url_citation", "url_citation": each} for each in reply.annotations]
