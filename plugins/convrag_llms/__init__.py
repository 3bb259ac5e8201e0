"""Language models at servers: those that speak OpenAI's protocol are asked directly, all others through litellm.

What both options share: http_llm.py (the stage), call.py (a prompt's requests, repeated where that may help),
limits.py (money, requests at a time and in a minute), prices.py, endpoint.py (address and key), parameters.py,
connections.py (HTTP, deadlines, cancellation, the limit on a reply's size), reply.py, errors.py, error_messages.py. The
options send a request in their own way: openai_compatible.py with openai_protocol.py, litellm_llm.py with _litellm.py.
"""

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
