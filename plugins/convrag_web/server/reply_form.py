"""The form of replies in OpenAI's protocol: what completions and responses have in common."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from convrag import TurnRecord
from convrag.sdk.llm.thoughts import count_thoughts
from convrag_web.server.cited_reply import CitedReply

Json = dict[str, Any]


class ReplyForm(ABC):
    """Formats the reply to one request, whole or as events."""

    error_name: ClassVar[str] = ""
    """The name of an event that is an error."""

    ending: ClassVar[bytes] = b""
    """The bytes after the last event of a stream."""

    @abstractmethod
    def format_whole(self, reply: CitedReply, record: TurnRecord) -> Json:
        """Format the reply at once."""

    @abstractmethod
    def list_first(self) -> list[Json]:
        """List the events before the first piece."""

    @abstractmethod
    def format_piece(self, text: str) -> Json:
        """Format the event of a piece of the answer."""

    @abstractmethod
    def list_last(self, reply: CitedReply, record: TurnRecord) -> list[Json]:
        """List the events after the last piece."""


def count_tokens(record: TurnRecord) -> Json:
    """Return the usage of a turn in the form of chat completions."""
    usage = record.usage.values()
    prompt = sum(each.prompt_tokens for each in usage)
    completion = sum(each.completion_tokens for each in usage)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": sum(each.cached_tokens for each in usage)},
        "completion_tokens_details": {"reasoning_tokens": count_thoughts(record)},
    }


def find_finish_reason(record: TurnRecord) -> str:
    """Return why the answer ends, as its language model said."""
    usage = record.usage.get("generator")
    if usage and usage.filtered:
        return "content_filter"
    if usage and usage.cut:
        return "length"
    return "stop"
