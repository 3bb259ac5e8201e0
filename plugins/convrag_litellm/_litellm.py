"""The only module that imports litellm: quietly, without network access at import, and when it is first needed."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

_lock = threading.Lock()


@cache
def _load() -> Any:
    # Read at import: fetch no price list, read no .env file, look up no GitHub.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.disable_hf_tokenizer_download = True  # counting tokens would wait for it, offline for half a minute
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("LiteLLM"):
            logger = logging.getLogger(name)
            logger.handlers.clear()  # its lines reach the root's handlers anyway: here they would be doubled
            logger.setLevel(logging.WARNING)
    return litellm


def library() -> Any:
    """The module, set up once; raises ImportError where it is not installed."""
    with _lock:
        return _load()


def complete(request: Mapping[str, Any]) -> Any:
    """One request, without a retry of litellm's or of the client below it. Raises whatever litellm raises."""
    return library().completion(**request, max_retries=0)


def cost(response: Any, model: str) -> float | None:
    """US dollars, or None where litellm knows no price."""
    try:
        return float(library().completion_cost(completion_response=response, model=model))
    except Exception:  # it raises a bare Exception for a model without a price
        return None


def count_tokens(model: str, text: str) -> int:
    """Tokens as the model counts them; where litellm has no tokenizer for it, those of OpenAI's models."""
    return int(library().token_counter(model=model, text=text))


def missing_keys(model: str) -> Sequence[str]:
    """Environment variables that this model's provider needs and that are not set."""
    return [str(name) for name in library().validate_environment(model)["missing_keys"]]
