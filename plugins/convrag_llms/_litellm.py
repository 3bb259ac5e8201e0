"""The only module that imports litellm: quietly, without network access at import, and when it is
first needed.

Its clients send through connections.py, by the two settings that litellm has for that, so that
deadlines, limits and cancellations are kept in one way.
"""

import gc
import logging
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx

from convrag.sdk.output.library_logs import owns_logs
from convrag_llms.connections import CONNECTIONS, Response, quieten
from convrag_llms.reply import (
    ConnectionFailed,
    HttpError,
    ReplyTooLong,
    UntrustedServer,
    list_causes,
)

_lock = threading.Lock()
_thread = threading.local()

Answer = Callable[[str, bytes, Mapping[str, str]], bytes]
"""URL, body and headers of a request -> the body of its response; raises what `Connections.send`
raises.
"""


class Transport(httpx.BaseTransport):  # type: ignore[misc, unused-ignore]
    """Sends the requests of httpx's clients through our connections."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its response is read while it arrives. Raises as `Connections.send`."""
        if answer := getattr(_thread, "answer", None):
            return httpx.Response(
                200, content=answer(str(request.url), request.read(), dict(request.headers))
            )
        response = CONNECTIONS.send(
            request.method, str(request.url), request.read(), dict(request.headers)
        )
        headers = [
            (name, value)
            for name, value in response.headers.items()
            if name.lower() != "content-encoding"
        ]
        return httpx.Response(response.status, headers=headers, stream=_Body(response))


class _Body(httpx.SyncByteStream):  # type: ignore[misc, unused-ignore]
    def __init__(self, response: Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        return self._response.read_pieces()

    def close(self) -> None:
        self._response.close()


class _Client(httpx.Client):  # type: ignore[misc, unused-ignore]
    def close(self) -> None:
        """Stay open: litellm closes the client of a provider that it forgets, and this one is for
        all.
        """


class _NoServiceLogger:
    """Replaces litellm's logger of services that only its proxy has: it runs an event loop for every call."""

    def service_success_hook(self, **_: Any) -> None:
        """Log nothing."""


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Import within the block: the collector would look through half a million new objects again
    and again.

    That is a third of the processor time of importing litellm (measured), and what is imported is
    no garbage.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
def _load() -> Any:
    with warnings.catch_warnings(), _without_garbage_collection():
        warnings.simplefilter(
            "ignore"
        )  # pydantic warns of litellm's types, at import and at their first use
        import litellm
        import openai.resources  # noqa: F401 - the first call would import it
        from litellm.litellm_core_utils import logging_utils

        litellm.suppress_debug_info = True
        litellm.telemetry = False
        litellm.disable_hf_tokenizer_download = (
            True  # counting tokens would wait for it, offline for half a minute
        )
        litellm.client_session = _Client(
            transport=Transport(), follow_redirects=True
        )  # for OpenAI's library
        litellm.sync_transport = Transport()  # for all other providers
        if hasattr(logging_utils, "_service_logger") and not litellm.service_callback:
            logging_utils._service_logger = _NoServiceLogger()
        quieten("httpx", "openai", "openai._base_client")
        for name in [
            name for name in logging.root.manager.loggerDict if name.startswith("LiteLLM")
        ]:
            quieten(name)
            if owns_logs():  # its lines reach the root's anyway: here they would be doubled
                logging.getLogger(name).handlers.clear()
        litellm.ModelResponseStream()
        # The first call imports half of litellm, which would count as the call's time: this one
        # asks nobody.
        litellm.completion(
            "openai/none", [{"role": "user", "content": "x"}], mock_response="x", **{"no-log": True}
        )
        return litellm


def load_library() -> Any:
    """The module litellm, set up once. Raises ImportError where it is not installed."""
    with _lock:
        return _load()


def complete(request: Mapping[str, Any], answer: Answer | None = None) -> Any:
    """The response of litellm to one request, without its or its client's retries.

    Args:
        request: what litellm takes.
        answer: what its HTTP request is given to, in place of the server.

    Raises what litellm raises, and the errors of connections.py.
    """
    _thread.answer = answer
    try:
        with _own_errors():
            return load_library().completion(**request, max_retries=0)
    finally:
        _thread.answer = None


@contextmanager
def stream(request: Mapping[str, Any]) -> Iterator[Iterable[Any]]:
    """The response of litellm to one request, as chunks while they arrive; the last one has the
    usage.

    Raises as `complete`, also while the chunks are read.
    """
    chunks = complete({**request, "stream": True, "stream_options": {"include_usage": True}})
    try:
        with _own_errors():
            yield chunks
    finally:
        # The garbage collector would close the response while this thread does something else: if
        # that is another request, the thread waits for its own lock for ever (measured).
        for holder in (
            chunks.completion_stream,
            getattr(chunks.completion_stream, "response", None),
        ):
            if callable(close := getattr(holder, "close", None)):
                close()


@contextmanager
def _own_errors() -> Iterator[None]:
    """Raise an error of connections.py itself where a client of litellm made it a connection error
    of its own.
    """
    try:
        yield
    except Exception as error:
        for cause in list_causes(error):
            if isinstance(cause, HttpError | ConnectionFailed | ReplyTooLong | UntrustedServer):
                raise cause from None
        raise
