"""Deadlines and cancellations for the clients of litellm, all of which read through httpcore, below httpx."""

from __future__ import annotations

from typing import Any

from convrag_llms.deadline import remaining_seconds, until_cancelled


def patch_httpcore() -> None:
    """Make httpcore's sockets keep to `deadline` and to cancellations. To be called once per process.

    Threads without a deadline read as before.
    """
    from httpcore import ReadTimeout
    from httpcore._backends.sync import SyncStream

    read_on, write_on = SyncStream.read, SyncStream.write

    def read(self: Any, max_bytes: int, timeout: float | None = None) -> bytes:
        if (remaining := remaining_seconds()) is not None:
            if remaining <= 0:
                raise ReadTimeout("the deadline for the whole reply has passed")
            timeout = remaining if timeout is None else min(timeout, remaining)
        with until_cancelled(self.get_extra_info("socket")):
            return bytes(read_on(self, max_bytes, timeout))

    def write(self: Any, buffer: bytes, timeout: float | None = None) -> None:
        with until_cancelled(self.get_extra_info("socket")):
            write_on(self, buffer, timeout)

    SyncStream.read, SyncStream.write = read, write
