"""The replies of OpenAI's Responses: whole, and as events."""

import time
from typing import Any

from convrag import TurnRecord
from convrag_web.server.cited_reply import CitedReply
from convrag_web.server.openai_requests import ResponseRequest
from convrag_web.server.reply_form import Json, ReplyForm, count_tokens, find_finish_reason

_INCOMPLETE_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""The reason for which a completion ends early -> the name that responses have for it."""


class ResponseForm(ReplyForm):
    """Formats the reply to one request of Responses.

    Args:
        id: the id of the reply; that of a stored turn names its conversation and its number.
        request: the request.
        stored: whether the turn is stored.
    """

    error_name = "error"

    def __init__(self, id: str, request: ResponseRequest, *, stored: bool = False) -> None:
        self._item_id = f"msg_{id}"
        self._place = {"item_id": self._item_id, "output_index": 0, "content_index": 0}
        self._with_record = request.convrag
        self._next_number = 0
        self._response: Json = {
            "id": f"resp_{id}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "usage": None,
            "model": request.model,
            "instructions": request.instructions,
            "metadata": request.metadata or {},
            "previous_response_id": request.previous_response_id,
            "store": stored,
            "output": [],
            "text": {"format": {"type": "text"}},
            "tools": [],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
        }

    def format_whole(self, reply: CitedReply, record: TurnRecord) -> Json:
        """Format the reply at once."""
        whole = dict(self._response)
        reason = _INCOMPLETE_REASONS.get(find_finish_reason(record))
        if reason:
            whole["status"] = "incomplete"
            whole["incomplete_details"] = {"reason": reason}
        else:
            whole["status"] = "completed"
        whole["output"] = [self._format_item(whole["status"], self._format_part(reply))]
        whole["usage"] = _format_usage(record)
        if self._with_record:
            whole["convrag"] = record.to_dict()
        return whole

    def list_first(self) -> list[Json]:
        """List the events before the first piece."""
        empty_item = self._format_item("in_progress")
        empty_part = self._format_part(CitedReply())
        return [
            self._format_event("created", response=self._response),
            self._format_event("in_progress", response=self._response),
            self._format_event("output_item.added", output_index=0, item=empty_item),
            self._format_event("content_part.added", **self._place, part=empty_part),
        ]

    def format_piece(self, text: str) -> Json:
        """Format the event of a piece of the answer."""
        return self._format_event("output_text.delta", **self._place, delta=text, logprobs=[])

    def list_last(self, reply: CitedReply, record: TurnRecord) -> list[Json]:
        """List the events after the last piece: annotations, the text, and the whole response."""
        response = self.format_whole(reply, record)
        (item,) = response["output"]
        (part,) = item["content"]
        events = []
        for number, annotation in enumerate(part["annotations"]):
            fields = {**self._place, "annotation_index": number, "annotation": annotation}
            events.append(self._format_event("output_text.annotation.added", **fields))
        text = {**self._place, "text": part["text"], "logprobs": []}
        events.append(self._format_event("output_text.done", **text))
        events.append(self._format_event("content_part.done", **self._place, part=part))
        events.append(self._format_event("output_item.done", output_index=0, item=item))
        events.append(self._format_event(response["status"], response=response))
        return events

    def _format_item(self, status: str, *parts: Json) -> Json:
        """Format the message, with the parts of its content."""
        return {
            "id": self._item_id,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": list(parts),
        }

    def _format_part(self, reply: CitedReply) -> Json:
        """Format the text of the message."""
        return {
            "type": "output_text",
            "text": reply.text,
            "annotations": [{"type": "url_citation", **each} for each in reply.annotations],
            "logprobs": [],
        }

    def _format_event(self, name: str, **fields: Any) -> Json:
        event = {"type": f"response.{name}", "sequence_number": self._next_number, **fields}
        self._next_number += 1
        return event


def _format_usage(record: TurnRecord) -> Json:
    """Return the usage of a turn in the form of Responses."""
    tokens = count_tokens(record)
    return {
        "input_tokens": tokens["prompt_tokens"],
        "input_tokens_details": tokens["prompt_tokens_details"],
        "output_tokens": tokens["completion_tokens"],
        "output_tokens_details": tokens["completion_tokens_details"],
        "total_tokens": tokens["total_tokens"],
    }
