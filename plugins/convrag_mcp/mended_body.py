"""Bodies of requests in which the SDK can read every text.

Its parser of JSON refuses a request with half a surrogate pair, which clients send where a text was
cut within an emoji. The half becomes U+FFFD, as everywhere else.
"""

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape in JSON: a surrogate pair, half a pair, or any other one."""


class MendedBody:
    """Passes requests on, with U+FFFD for each half of a surrogate pair.

    Args:
        app: gets each body as a whole, as the server passes it on.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def receive_mended() -> Message:
            message = await receive()
            if message.get("body"):
                return {**message, "body": mend_escapes(message["body"])}
            return message

        await self._app(scope, receive_mended, send)


def mend_escapes(body: bytes) -> bytes:
    """Replace the escapes of halves of surrogate pairs in JSON."""
    return _ESCAPE.sub(lambda escape: rb"\ufffd" if escape["half"] else escape[0], body)
