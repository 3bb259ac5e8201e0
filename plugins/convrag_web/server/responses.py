"""The replies of OpenAI's Responses: whole, and as events."""

import time
from typing import Any

from convrag import TurnRecord
from convrag_web.server.citations import CitedReply
from convrag_web.server.completions import count_tokens, find_reason
from convrag_web.server.openai_requests import ResponseRequest

_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponseForm:
    """Formats the reply to one request.

    Args:
        id: of the reply; that of a turn that is kept names its conversation and its number.
        request: that it answers.
        stored: whether the turn is kept.
    """

    def __init__(self, id: str, request: ResponseRequest, *, stored: bool = False) -> None:
        self._place = {"item_id": f"msg_{id}", "output_index": 0, "content_index": 0}
        self._with_record = request.convrag
        self._number = -1
        self._response: dict[str, Any] = (
            {
                "id": f"resp_{id}",
                "object": "response",
                "created_at": int(time.time()),
                "status": "in_progress",
            }
            | dict.fromkeys(("error", "incomplete_details", "usage"))
            | {
                "model": request.model,
                "instructions": request.instructions,
                "metadata": request.metadata or {},
            }
            | {"previous_response_id": request.previous_response_id, "store": stored, "output": []}
            | {
                "text": {"format": {"type": "text"}},
                "tools": [],
                "tool_choice": "auto",
                "parallel_tool_calls": True,
            }
        )

    def format_whole(self, reply: CitedReply, record: TurnRecord) -> dict[str, Any]:
        """The reply at once."""
        spent = count_tokens(record)
        usage = {
            "input_tokens": spent["prompt_tokens"],
            "input_tokens_details": spent["prompt_tokens_details"],
        }
        usage |= {
            "output_tokens": spent["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        usage |= {"total_tokens": spent["total_tokens"]}
        reason = _REASONS.get(find_reason(record))
        status = "incomplete" if reason else "completed"
        details = {"incomplete_details": {"reason": reason}} if reason else {}
        whole = {
            "status": status,
            "output": [self._format_item(reply, status)],
            "usage": usage,
            **details,
        }
        return self._response | whole | ({"convrag": record.to_dict()} if self._with_record else {})

    def list_first(self) -> list[dict[str, Any]]:
        """The events before the first piece."""
        item = self._format_item(CitedReply(), "in_progress")
        return [
            self._format_event("created", response=self._response),
            self._format_event("in_progress", response=self._response),
            self._format_event("output_item.added", output_index=0, item=item | {"content": []}),
            self._format_event("content_part.added", **self._place, part=item["content"][0]),
        ]

    def format_piece(self, text: str) -> dict[str, Any]:
        """The event of a piece of the answer."""
        return self._format_event("output_text.delta", **self._place, delta=text, logprobs=[])

    def list_last(self, reply: CitedReply, record: TurnRecord) -> list[dict[str, Any]]:
        """The events after the last piece: annotations, the text, and the whole response."""
        response = self.format_whole(reply, record)
        (item,) = response["output"]
        (part,) = item["content"]
        numbered = [
            {**self._place, "annotation_index": n, "annotation": each}
            for n, each in enumerate(part["annotations"])
        ]
        return [
            *(self._format_event("output_text.annotation.added", **each) for each in numbered),
            self._format_event("output_text.done", **self._place, text=part["text"], logprobs=[]),
            self._format_event("content_part.done", **self._place, part=part),
            self._format_event("output_item.done", output_index=0, item=item),
            self._format_event(response["status"], response=response),
        ]

    def _format_item(self, reply: CitedReply, status: str) -> dict[str, Any]:
        annotations = [{"type": "url_citation", **each} for each in reply.annotations]
        part = {
            "type": "output_text",
            "text": reply.text,
            "annotations": annotations,
            "logprobs": [],
        }
        id = self._place["item_id"]
        return {
            "id": id,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": [part],
        }

    def _format_event(self, name: str, **fields: Any) -> dict[str, Any]:
        self._number += 1
        return {"type": f"response.{name}", "sequence_number": self._number, **fields}
