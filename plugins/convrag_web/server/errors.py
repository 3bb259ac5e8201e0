"""Errors of requests, as OpenAI's object `{"error": {"message", "type", "param", "code"}}`."""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Match, Mount

from convrag import ConfigError, ConvragError
from convrag.sdk.errors import ConversationChanged, OtherConfiguration, RunStopped
from convrag.sdk.secrets import redact
from convrag.sdk.storage import DiskError, StoreUnusable
from convrag_web.server.json_reply import JsonReply

log = logging.getLogger("convrag.serve")


class ErrorBody(BaseModel):
    """A message, OpenAI's kind of error, the field at fault, and a fixed name for programs."""

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
"""Statuses below 500 after which OpenAI's clients repeat a request, unless told not to."""


_LONGEST_MESSAGE = 4000
"""The characters of an error's message."""


class RequestError(ConvragError):
    """An error with the reply that a client gets.

    Args:
        status: the HTTP status.
        message: a sentence for people.
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
        self.message = _shorten(redact(_shorten(message, 2 * _LONGEST_MESSAGE)))
        self.type = type or ("invalid_request_error" if status < 500 else "server_error")
        self.param = param
        self.code = code
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)
        elif status in _RETRIED or status >= 500:
            self.headers["x-should-retry"] = "false"

    def to_dict(self) -> dict[str, Any]:
        """Return the body of the reply."""
        return {
            "error": {
                "message": self.message,
                "type": self.type,
                "param": self.param,
                "code": self.code,
            }
        }

    def to_reply(self) -> JsonReply:
        """Return the whole reply."""
        return JsonReply(self.to_dict(), status_code=self.status, headers=self.headers)


def _shorten(message: str, most: int = _LONGEST_MESSAGE) -> str:
    return message if len(message) <= most else f"{message[:most]} ..."


def describe_failure(error: BaseException) -> RequestError:
    """Return the error for the client when a turn or a request has raised another one.

    Unexpected errors are logged.
    """
    match error:
        case RequestError():
            return error
        case StoreUnusable() | DiskError():  # kinds of RunStopped
            log.error("%s", error)
            return RequestError(503, str(error), code="unavailable")
        case RunStopped():
            return RequestError(429, str(error), type="insufficient_quota", code="run_stopped")
        case OtherConfiguration():
            return RequestError(409, str(error), code="other_configuration")
        case ConversationChanged():
            return RequestError(409, str(error), code="conversation_changed")
        case ConfigError():
            return RequestError(400, str(error))
        case ConvragError():
            log.error("%s", error)
            return RequestError(503, str(error), code="unavailable")
    log.error("this should not have happened: %s: %s", type(error).__name__, error, exc_info=error)
    return RequestError(500, "the server made a mistake; its log says more", code="internal_error")


def describe_invalid_request(error: RequestValidationError) -> RequestError:
    """Return the error for a request that does not fit the API: its innermost problem."""
    fields: list[str] = []
    problem = error.errors()[0]
    for each in error.errors():
        path = [str(part) for part in each["loc"][1:] if _is_field(part)]
        if len(path) > len(fields):
            fields = path
            problem = each
    if problem["type"] == "json_invalid":
        return RequestError(400, f"the body is no JSON: {problem['ctx']['error']}")
    param = ".".join(fields)
    if fields and fields[0] in UNSUPPORTED:
        message = f"{param} is not supported so: {UNSUPPORTED[fields[0]]}"
        return RequestError(400, message, param=param, code="unsupported_parameter")
    message = str(problem["msg"]).removeprefix("Value error, ")
    if param:
        return RequestError(400, f"{param}: {message}", param=param)
    return RequestError(400, message)


_ONLY_TEXT = (
    "answers are text that cites sources: leave it out, or ask the language model itself for JSON, "
    "in words"
)

UNSUPPORTED = {
    "n": "leave it out",
    "logprobs": "leave it out",
    "top_logprobs": "leave it out",
    "audio": "leave it out",
    "modalities": "leave it out",
    "background": "leave it out",
    "prompt": "leave it out",
    "tools": (
        "the server has no tools of its own: leave them out; functions of yours may stay, and none "
        "is called"
    ),
    "tool_choice": 'no tool is ever called, so none can be forced: leave it out, or say "auto"',
    "functions": "leave them out; tools may be sent, and none is ever called",
    "response_format": _ONLY_TEXT,
    "text": _ONLY_TEXT,
    "conversation": "name the response that came before, as previous_response_id",
}
"""Fields of OpenAI's protocol that the server refuses, with advice.

To ignore them would give another reply than the client asked for.
"""

_UNION_MEMBERS = frozenset({"str", "ChatMessage", "OtherItem"})


def _is_field(part: object) -> bool:
    """Return whether a part of a location is a field or an index, not a name of a union."""
    if isinstance(part, int):
        return True
    return str(part).isidentifier() and part not in _UNION_MEMBERS


def install_error_handlers(app: FastAPI) -> None:
    """Let every error of an application be OpenAI's object."""

    async def handle_http_error(request: Request, error: HTTPException) -> JsonReply:
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code)
        headers = error.headers
        if error.status_code == 405:
            headers = {"Allow": ", ".join(_list_methods(app, request))}
        described = RequestError(error.status_code, str(error.detail), code=code, headers=headers)
        return described.to_reply()

    app.add_exception_handler(HTTPException, handle_http_error)
    app.add_exception_handler(
        RequestValidationError, lambda _, error: describe_invalid_request(error).to_reply()
    )
    for kind in (RequestError, ConvragError, Exception):
        app.add_exception_handler(kind, lambda _, error: describe_failure(error).to_reply())


def _list_methods(app: FastAPI, request: Request) -> list[str]:
    """List the methods that a path has. Starlette names those of the path's first route alone."""
    routes = [route for route in app.routes if not isinstance(route, Mount)]
    methods = []
    for method in ("DELETE", "GET", "HEAD", "POST"):
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in routes):
            methods.append(method)
    return methods
