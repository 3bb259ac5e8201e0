"""The parameters of `task=serve` that the application reads."""

from typing import Literal, Protocol


class MessageLimits(Protocol):
    """Limits of the messages in a request; `ServeTask` has them."""

    max_messages: int
    max_characters: int
    attachments: Literal["refuse", "ignore"]


class ServerOptions(MessageLimits, Protocol):
    """Options of the application; `ServeTask` has them and explains each."""

    domain: str | None
    workers: int
    queue: int
    queue_timeout: float
    timeout: float
    sources: Literal["annotations", "text"]
    public_url: str
    originals: bool
    max_body: int
