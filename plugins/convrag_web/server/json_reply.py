"""JSON in requests and replies, as its standard has it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from convrag.sdk.streaming import mend_surrogates
from convrag.sdk.strict_json import format_json, parse_json

_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
"""Objects are left to `format_json`, which writes them in the same way everywhere."""


def encode_json(value: Any) -> bytes:
    """Plain data as JSON in UTF-8: NaN becomes null, half a surrogate pair U+FFFD."""
    try:
        encoded: bytes = orjson.dumps(value, option=_PLAIN)
    except TypeError:  # half a surrogate pair, an integer beyond 64 bits, a key that is no text, an object
        encoded = mend_surrogates(format_json(value)).encode()
    return encoded


class JsonReply(Response):
    """A reply in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Format the body."""
        return encode_json(content)


class StrictJsonRequest(Request):
    """A request whose body is read as strict JSON: no NaN, no endless numbers, no depth that exhausts the stack."""

    async def json(self) -> Any:
        """Parse the body. Raises HTTPException."""
        try:
            return parse_json(await self.body())
        except ValueError as error:
            raise HTTPException(400, f"the body is no JSON: {error}") from error


class StrictJsonRoute(APIRoute):
    """A route whose requests are `StrictJsonRequest`s."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the route."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictJsonRequest(request.scope, request.receive))

        return handle_strictly
