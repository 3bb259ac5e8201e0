"""The only module that imports litellm: quietly, without network access, at the first need."""

import gc
import logging
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from convrag.sdk.output.library_logs import owns_logs
from convrag_llms.errors import (
    ConnectionFailed,
    HttpError,
    ReplyTooLong,
    UntrustedServer,
    list_causes,
)
from convrag_llms.litellm_transport import Answer, Client, Transport, answering
from convrag_llms.redacted_logs import quieten

_lock = threading.Lock()


class _NoServiceLogger:
    """Replaces a logger of litellm's proxy, which runs an event loop for every call."""

    def service_success_hook(self, **_: Any) -> None:
        """Log nothing."""


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Import within the block, where the garbage collector would find nothing.

    It would look through half a million new objects again and again: a third of the processor time
    of importing litellm (measured).
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
        # pydantic warns of litellm's types, at import and at their first use.
        warnings.simplefilter("ignore")
        import litellm
        import openai.resources  # noqa: F401 - the first call would import it

        _configure(litellm)
        _configure_logs(litellm)
        _warm_up(litellm)
        return litellm


def _configure(litellm: Any) -> None:
    """Let litellm send its requests by our connections, and nothing else."""
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    # Counting tokens would wait for a download: offline for half a minute.
    litellm.disable_hf_tokenizer_download = True
    # OpenAI's library takes the client, all other providers the transport.
    litellm.client_session = Client(transport=Transport(), follow_redirects=True)
    litellm.sync_transport = Transport()


def _configure_logs(litellm: Any) -> None:
    """Quieten the loggers of litellm and its clients."""
    from litellm.litellm_core_utils import logging_utils

    if hasattr(logging_utils, "_service_logger") and not litellm.service_callback:
        logging_utils._service_logger = _NoServiceLogger()
    quieten("httpx", "openai", "openai._base_client")
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("LiteLLM"):
            quieten(name)
            if (
                owns_logs()
            ):  # its lines reach the root's handlers anyway: here they would be doubled
                logging.getLogger(name).handlers.clear()


def _warm_up(litellm: Any) -> None:
    """Let litellm import what its first call would import, which would count as the call's time.

    This call is answered without a request.
    """
    litellm.ModelResponseStream()
    messages = [{"role": "user", "content": "x"}]
    litellm.completion("openai/none", messages, mock_response="x", **{"no-log": True})


def load_library() -> Any:
    """Return the module litellm, set up once. Raises ImportError where it is not installed."""
    with _lock:
        return _load()


def complete(request: Mapping[str, Any], answer: Answer | None = None) -> Any:
    """Return litellm's response to one request, without its or its client's retries.

    Raises what litellm raises, and the errors of connections.py.

    Args:
        request: as litellm takes it.
        answer: answers its HTTP request in place of the server.
    """
    with answering(answer), _unwrap_errors():
        return load_library().completion(**request, max_retries=0)


@contextmanager
def stream(request: Mapping[str, Any]) -> Iterator[Iterable[Any]]:
    """Give litellm's response to one request as chunks while they arrive.

    Raises as `complete`, also while the chunks are read.
    """
    chunks = complete({**request, "stream": True})
    try:
        with _unwrap_errors():
            yield chunks
    finally:
        _close(chunks)


def _close(chunks: Any) -> None:
    """Close a streamed response in the thread that read it.

    The garbage collector would close it while its thread does something else: if that is another
    request, the thread waits for its own lock for ever (measured).
    """
    stream = chunks.completion_stream
    for holder in (stream, getattr(stream, "response", None)):
        close = getattr(holder, "close", None)
        if callable(close):
            close()


@contextmanager
def _unwrap_errors() -> Iterator[None]:
    """Raise our own error where a client of litellm made a connection error of it."""
    try:
        yield
    except Exception as error:
        for cause in list_causes(error):
            if isinstance(cause, HttpError | ConnectionFailed | ReplyTooLong | UntrustedServer):
                raise cause from None
        raise
