"""Language models through litellm: hosted ones, and any server that speaks the OpenAI protocol."""

from __future__ import annotations

import os

from convrag import Register, hookimpl

# litellm reads these at import, and other libraries import it on their own: fetch no price list, read no .env file.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `llm=litellm`."""
    register("llm", "litellm", "convrag_litellm.llm:LiteLLM")
