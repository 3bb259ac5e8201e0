"""Limits on how much of a server's reply is read, so that no reply fills the memory, however well it is compressed."""

from __future__ import annotations

from convrag_llms.http_errors import list_causes

MAX_REPLY_BYTES = 10 * 2**20
"""The longest reply in one piece, after decompression; 128,000 tokens are about half a MB."""

MAX_STREAM_BYTES = 64 * 2**20
"""The longest streamed reply: servers send some 300 bytes with each token."""

MAX_ERROR_BYTES = 64 * 2**10
"""How much of an error page is read; the rest of it is ignored."""


class ReplyTooLong(Exception):
    """A server sent more than a reply may have; the request is not repeated."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the reply is longer than {limit / 2**20:g} MB")


def find_cause(error: BaseException) -> ReplyTooLong | None:
    """Find the ReplyTooLong from which litellm and its clients made an error of their own; None without one."""
    return next((cause for cause in list_causes(error) if isinstance(cause, ReplyTooLong)), None)
