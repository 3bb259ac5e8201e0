"""Replies in JSON; every error is OpenAI's object `{"error": {"message", "type", "param",
"code"}}`.
"""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Mount

from convrag import ConfigError, ConvragError
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.errors import ConversationChanged, OtherConfiguration, RunStopped
from convrag.sdk.llm.streaming import mend_surrogates
from convrag.sdk.secrets import redact


def encode_json(value: Any) -> bytes:
    """Plain data as JSON in UTF-8: NaN becomes null, half a surrogate pair U+FFFD."""
    return mend_surrogates(format_json(value)).encode()


class JsonReply(Response):
    """A reply in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Format the body."""
        return encode_json(content)


log = logging.getLogger("convrag.serve")


class ErrorBody(BaseModel):
    """What went wrong: a sentence, OpenAI's kind of error, the field at fault, and a fixed name for programs."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorReply(BaseModel):
    """The body of every reply that is an error."""

    error: ErrorBody


ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorReply},
    "5XX": {"model": ErrorReply},
}
"""The errors of a route, for the OpenAPI description."""

_RETRIED = frozenset({408, 409, 429})
"""Beside those from 500, the statuses after which OpenAI's clients send a request again unless they
are told not to.
"""


class RequestError(ConvragError):
    """An error that a client is told.

    Args:
        status: the HTTP status.
        message: a sentence.
        type: OpenAI's kind of error; by default the client's fault below 500, else the server's.
        param: the field at fault ("messages.0.content").
        code: a fixed name for programs.
        retry_after: seconds after which the same request may succeed; None where it should not be
            sent again.
        headers: further headers of the reply.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        type: str = "",
        param: str | None = None,
        code: str | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = redact(message)
        self.type = type or ("invalid_request_error" if status < 500 else "server_error")
        self.param = param
        self.code = code
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)
        elif status in _RETRIED or status >= 500:
            self.headers["x-should-retry"] = "false"

    def to_dict(self) -> dict[str, Any]:
        """The body of the reply."""
        return {
            "error": {
                "message": self.message,
                "type": self.type,
                "param": self.param,
                "code": self.code,
            }
        }

    def to_reply(self) -> JsonReply:
        """The whole reply."""
        return JsonReply(self.to_dict(), status_code=self.status, headers=self.headers)


def describe_failure(error: BaseException) -> RequestError:
    """What a client is told of an error that a turn or a request raised; an unexpected one is
    logged.
    """
    if isinstance(error, RequestError):
        return error
    if isinstance(error, RunStopped):
        return RequestError(429, str(error), type="insufficient_quota", code="run_stopped")
    if isinstance(error, OtherConfiguration):
        return RequestError(409, str(error), code="other_configuration")
    if isinstance(error, ConversationChanged):
        return RequestError(409, str(error), code="conversation_changed")
    if isinstance(error, ConfigError):
        return RequestError(400, str(error))
    if isinstance(error, ConvragError):
        log.error("%s", error)
        return RequestError(503, str(error), code="unavailable")
    log.error("this should not have happened: %s: %s", type(error).__name__, error, exc_info=error)
    return RequestError(500, "the server made a mistake; its log says more", code="internal_error")


def describe_invalid_request(problems: RequestValidationError) -> RequestError:
    """The innermost problem of a request that does not fit the description of the API."""
    places = [
        [str(part) for part in each["loc"][1:] if _is_field(part)] for each in problems.errors()
    ]
    place, problem = max(zip(places, problems.errors(), strict=True), key=lambda each: len(each[0]))
    param = ".".join(place)
    if problem["type"] == "json_invalid":
        return RequestError(400, f"the body is no JSON: {problem['ctx']['error']}")
    message = str(problem["msg"]).removeprefix("Value error, ")
    if place and place[0] in UNSUPPORTED:
        text = f"{param} is not supported so: {UNSUPPORTED[place[0]]}"
        return RequestError(400, text, param=param, code="unsupported_parameter")
    return RequestError(400, f"{param}: {message}" if param else message, param=param or None)


_JSON = "answers are text that cites sources: leave it out, or ask the language model itself for JSON, in words"
UNSUPPORTED = dict.fromkeys(
    ("n", "logprobs", "top_logprobs", "audio", "modalities", "background", "prompt"), "leave it out"
) | {
    "tools": "the server has no tools of its own: leave them out; functions of yours may stay, and none is called",
    "tool_choice": 'no tool is ever called, so none can be forced: leave it out, or say "auto"',
    "functions": "leave them out; tools may be sent, and none is ever called",
    "response_format": _JSON,
    "text": _JSON,
    "conversation": "name the response that came before, as previous_response_id",
}
"""Fields of OpenAI's protocol whose values may be refused, since ignoring them would give another
reply than was asked for; and what to do.
"""

_UNION_MEMBERS = frozenset({"str", "ChatMessage", "OtherItem"})


def _is_field(part: object) -> bool:
    """Whether a part of a place is the name of a field or a number in a list, and none of
    pydantic's for a union.
    """
    return isinstance(part, int) or (str(part).isidentifier() and part not in _UNION_MEMBERS)


def install_error_handlers(app: FastAPI) -> None:
    """Let every error of an application be OpenAI's object."""

    async def handle_http_error(request: Request, error: HTTPException) -> JsonReply:
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code)
        headers = error.headers
        if error.status_code == 405:  # Starlette names the methods of the path's first route alone
            scopes = {
                name: {**request.scope, "method": name}
                for name in ("DELETE", "GET", "HEAD", "POST")
            }
            routes = [route for route in app.routes if not isinstance(route, Mount)]
            allowed = [
                name
                for name in scopes
                if any(each.matches(scopes[name])[0] is Match.FULL for each in routes)
            ]
            headers = {"Allow": ", ".join(allowed)}
        return RequestError(
            error.status_code, str(error.detail), code=code, headers=headers
        ).to_reply()

    app.add_exception_handler(HTTPException, handle_http_error)
    app.add_exception_handler(
        RequestValidationError, lambda _, error: describe_invalid_request(error).to_reply()
    )
    for kind in (RequestError, ConvragError, Exception):
        app.add_exception_handler(kind, lambda _, error: describe_failure(error).to_reply())
