"""The only module that imports litellm: quietly, without network access at import, and when it is first needed."""

from __future__ import annotations

import gc
import logging
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from convrag.sdk.library_logs import owns_logs
from convrag_llms.client import TokenPrices
from convrag_llms.redaction import RedactingFilter

_lock = threading.Lock()
_LOGGERS = ("httpx", "openai", "openai._base_client")  # they log addresses, which may hold secrets


class _NoServiceLogger:
    """Replaces litellm's logger of services that only its proxy has: it runs an event loop for every call."""

    def service_success_hook(self, **_: Any) -> None:
        """Log nothing."""


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Import within the block: the collector would look through half a million new objects again and again.

    That is a third of the processor time of importing litellm (measured), and what is imported is no garbage.
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
        warnings.simplefilter("ignore")  # pydantic warns of litellm's types, at import and at their first use
        import litellm
        import openai.resources  # noqa: F401 - litellm's first call would import it, and that would count as the call's

        litellm.ModelResponse(usage=litellm.Usage())
        litellm.ModelResponseStream()

    from litellm.litellm_core_utils import logging_utils

    from convrag_llms.httpcore_deadline import patch_httpcore
    from convrag_llms.httpx_limits import limit_other_clients
    from convrag_llms.httpx_pool import PooledClient

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.disable_hf_tokenizer_download = True  # counting tokens would wait for it, offline for half a minute
    litellm.client_session = PooledClient()
    if hasattr(logging_utils, "_service_logger") and not litellm.service_callback:
        logging_utils._service_logger = _NoServiceLogger()
    patch_httpcore()
    limit_other_clients()
    for name in [*_LOGGERS, *(name for name in logging.root.manager.loggerDict if name.startswith("LiteLLM"))]:
        logging.getLogger(name).setLevel(logging.WARNING)  # below it they write addresses and headers, with keys
        logging.getLogger(name).addFilter(RedactingFilter())
        if owns_logs():
            logging.getLogger(name).handlers.clear()  # its lines reach the root's anyway: here they would be doubled
    return litellm


def load_library() -> Any:
    """The module litellm, set up once. Raises ImportError where it is not installed."""
    with _lock:
        return _load()


def complete(request: Mapping[str, Any]) -> Any:
    """The response of litellm to one request, without its or its client's retries.

    Raises what litellm raises, and ReplyTooLong.
    """
    with _without_callbacks(), _too_long_replies():
        return load_library().completion(**request, max_retries=0)


@contextmanager
def _without_callbacks() -> Iterator[None]:
    """Skip litellm's report to callbacks where none is registered: a sixth of a call's processor time (measured)."""
    module = load_library()
    flag = getattr(getattr(module, "_internal_context", None), "is_internal_call", None)
    if flag is None or _has_callbacks(module):
        yield
        return
    token = flag.set(True)
    try:
        yield
    finally:
        flag.reset(token)


def _has_callbacks(module: Any) -> bool:
    return bool(module.callbacks or module.success_callback)


def _skip_stream_reports(chunks: Any) -> None:
    """Skip the same for a stream, of which litellm reports each chunk and the end in threads of its own.

    That is a quarter of a streamed call's processor time (measured). A fifth are the two times that litellm computes
    the cost for these reports; it is computed once, from the usage (`compute_cost_of_usage`).
    """
    module = load_library()
    if not _has_callbacks(module):
        module.disable_streaming_logging = True
        with suppress(AttributeError):
            chunks.logging_obj.success_handler = lambda *_, **__: None
            chunks.logging_obj.response_cost_calculator = lambda *_, **__: None


@contextmanager
def _too_long_replies() -> Iterator[None]:
    """Raise ReplyTooLong itself where a client of litellm made it a connection error, which would be tried again."""
    from convrag_llms.reply_limit import find_cause

    try:
        yield
    except Exception as error:
        if (cause := find_cause(error)) is not None:
            raise cause from None
        raise


@contextmanager
def stream(request: Mapping[str, Any]) -> Iterator[Iterable[Any]]:
    """The response of litellm to one request, as chunks while they arrive; the last one has the usage.

    Raises as `complete`, also while the chunks are read.
    """
    chunks = complete({**request, "stream": True, "stream_options": {"include_usage": True}})
    _skip_stream_reports(chunks)
    try:
        with _too_long_replies():
            yield chunks
    finally:
        # The garbage collector would close the response while this thread does something else: if that is another
        # request, the thread waits for its own lock for ever (measured).
        for holder in (chunks.completion_stream, getattr(chunks.completion_stream, "response", None)):
            if callable(close := getattr(holder, "close", None)):
                close()


def is_complete(chunks: Any) -> bool:
    """Whether the server sent a finish reason for its streamed reply; litellm adds one to any stream that stops."""
    return getattr(chunks, "received_finish_reason", "unknown") is not None


def compute_cost(response: Any, model: str) -> float | None:
    """US dollars of a response, or None where litellm knows no price. It computes them itself for one in one piece."""
    hidden = getattr(response, "_hidden_params", None) or {}
    if "response_cost" in hidden:
        known = hidden["response_cost"]
        return None if known is None else float(known)
    try:
        return float(load_library().completion_cost(completion_response=response, model=model))
    except Exception:  # litellm raises many kinds for a model without a price
        return None


def compute_cost_of_usage(usage: Any, model: str) -> float | None:
    """US dollars of a streamed response with this usage, or None where litellm knows no price."""
    return compute_cost(load_library().ModelResponse(model=model, usage=usage), model)


def find_prices(model: str) -> TokenPrices | None:
    """The highest prices of a model's tokens; None where litellm knows none."""
    try:
        info = load_library().get_model_info(model)
    except Exception:  # a bare Exception for a model that is not in its list
        return None
    rates = [
        [float(rate) for name, rate in info.items() if rate and name.startswith(kind) and not name.endswith("_batches")]
        for kind in (("input_cost_per_token", "cache_creation_input_token_cost"), ("output_cost_per_token",))
    ]
    if info.get("input_cost_per_token") is None:
        return None
    return TokenPrices(max(rates[0], default=0.0), max(rates[1], default=0.0), info.get("max_output_tokens"))


def find_max_input_tokens(model: str) -> int | None:
    """The longest input of a model in tokens; None where litellm does not know."""
    try:
        known = load_library().get_model_info(model).get("max_input_tokens")
    except Exception:  # as above
        return None
    return int(known) if known else None


def count_tokens(model: str, text: str) -> int:
    """Tokens as the model's tokenizer counts them, or where litellm has none for it, as OpenAI's does."""
    return int(load_library().token_counter(model=model, text=text))


def find_missing_keys(model: str) -> Sequence[str]:
    """The environment variables that this model's provider needs and that are not set."""
    return [str(name) for name in load_library().validate_environment(model)["missing_keys"]]
