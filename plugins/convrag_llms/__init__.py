"""Language models at servers: those that speak OpenAI's protocol are asked directly, all others through litellm.

The two options differ in their client (client.py): litellm_client.py with _litellm.py, httpx_pool.py, httpx_limits.py,
httpcore_deadline.py and providers.py, or openai_client.py with connections.py, event_stream.py and token_estimate.py.
"""

from __future__ import annotations

import os

from convrag import Register, hookimpl

# litellm reads these at import, and other libraries import it on their own: fetch no price list, read no .env file.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `llm=litellm` and `llm=openai_compatible`."""
    register("llm", "litellm", "convrag_llms.litellm_llm:LiteLLM")
    register("llm", "openai_compatible", "convrag_llms.openai_compatible:OpenAICompatible")
