"""The only module that imports litellm: quietly, without network access at import, and when it is first needed."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from convrag_litellm.secrets import Scrubbed

_lock = threading.Lock()
_TALKATIVE = ("httpx", "openai", "openai._base_client")  # they log addresses, with whatever stands in them


class Price(NamedTuple):
    """US dollars for a token read and a token written, at the dearest rate, and the longest reply in tokens."""

    read: float
    write: float
    longest_reply: int | None


class _NoServices:
    """In place of litellm's timer for services that only its proxy has: it runs an event loop for every call."""

    def service_success_hook(self, **_: Any) -> None:
        """Nothing to tell."""


@cache
def _load() -> Any:
    # Read at import: fetch no price list, read no .env file, look up no GitHub.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydantic has remarks on litellm's types, at import and at their first use
        import litellm

        litellm.ModelResponse(usage=litellm.Usage())
        litellm.ModelResponseStream()

    from litellm.litellm_core_utils import logging_utils

    from convrag_litellm import deadline
    from convrag_litellm.clients import LentClients

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.disable_hf_tokenizer_download = True  # counting tokens would wait for it, offline for half a minute
    litellm.client_session = LentClients()
    if hasattr(logging_utils, "_service_logger") and not litellm.service_callback:
        logging_utils._service_logger = _NoServices()
    deadline.install()
    for name in [*_TALKATIVE, *(name for name in logging.root.manager.loggerDict if name.startswith("LiteLLM"))]:
        logger = logging.getLogger(name)
        logger.handlers.clear()  # litellm's lines reach the root's handlers anyway: here they would be doubled
        logger.setLevel(logging.WARNING)
        logger.addFilter(Scrubbed())
    return litellm


def library() -> Any:
    """The module, set up once; raises ImportError where it is not installed."""
    with _lock:
        return _load()


def complete(request: Mapping[str, Any]) -> Any:
    """One request, without a retry of litellm's or of the client below it. Raises whatever litellm raises."""
    with _unreported():
        return library().completion(**request, max_retries=0)


@contextmanager
def _unreported() -> Iterator[None]:
    """Spare litellm its report to callbacks where nobody registered one: a sixth of what a call costs (measured)."""
    module = library()
    flag = getattr(getattr(module, "_internal_context", None), "is_internal_call", None)
    if flag is None or module.callbacks or module.success_callback:
        yield
        return
    token = flag.set(True)
    try:
        yield
    finally:
        flag.reset(token)


@contextmanager
def stream(request: Mapping[str, Any]) -> Iterator[Iterable[Any]]:
    """The same, as chunks while they come; the last one has the usage."""
    chunks = complete({**request, "stream": True, "stream_options": {"include_usage": True}})
    try:
        yield chunks
    finally:
        # Left to the garbage collector, the reply is closed in the midst of whatever this thread does then: where that
        # is another request, it waits for its own lock for ever (measured).
        for holder in (chunks.completion_stream, getattr(chunks.completion_stream, "response", None)):
            if callable(close := getattr(holder, "close", None)):
                close()


def came_to_an_end(chunks: Any) -> bool:
    """Whether the server said that its streamed reply is finished; litellm says so of any that stops."""
    return getattr(chunks, "received_finish_reason", "unknown") is not None


def cost(response: Any, model: str) -> float | None:
    """US dollars of a reply, or None where litellm knows no price. It has computed them for a reply in one piece."""
    hidden = getattr(response, "_hidden_params", None) or {}
    if "response_cost" in hidden:
        known = hidden["response_cost"]
        return None if known is None else float(known)
    try:
        return float(library().completion_cost(completion_response=response, model=model))
    except Exception:  # it raises all sorts for a model without a price
        return None


def cost_of_usage(usage: Any, model: str) -> float | None:
    """The same for a reply that came in pieces."""
    return cost(library().ModelResponse(model=model, usage=usage), model)


def price(model: str) -> Price | None:
    """What a token can cost at most; None where litellm knows no price."""
    try:
        known = library().get_model_info(model)
    except Exception:  # a bare Exception for a model that is not in its list
        return None
    rates = [
        [
            float(rate)
            for name, rate in known.items()
            if rate and name.startswith(kind) and not name.endswith("_batches")
        ]
        for kind in (("input_cost_per_token", "cache_creation_input_token_cost"), ("output_cost_per_token",))
    ]
    if known.get("input_cost_per_token") is None:
        return None
    return Price(max(rates[0], default=0.0), max(rates[1], default=0.0), known.get("max_output_tokens"))


def longest_prompt(model: str) -> int | None:
    """Tokens that a model reads at most, where litellm knows."""
    try:
        known = library().get_model_info(model).get("max_input_tokens")
    except Exception:  # as above
        return None
    return int(known) if known else None


def count_tokens(model: str, text: str) -> int:
    """Tokens as the model counts them; where litellm has no tokenizer for it, those of OpenAI's models."""
    return int(library().token_counter(model=model, text=text))


def missing_keys(model: str) -> Sequence[str]:
    """Environment variables that this model's provider needs and that are not set."""
    return [str(name) for name in library().validate_environment(model)["missing_keys"]]
