"""Language models at servers: those that speak OpenAI's protocol are asked directly, all others
through litellm.

http_llm.py is the stage that both options share. Its parts: call.py (a prompt's requests, repeated
where that may help, and what is said when they fail), limits.py (money and prices, requests at a
time and in a minute), endpoint.py (address, key, parameters), connections.py (HTTP, deadlines,
cancellation, the limit on a reply's size), batching.py (requests in waves, at half the price), and
reply.py (with the errors of a request). The options send a request in their own way:
openai_compatible.py, litellm_llm.py with _litellm.py.
"""

import os

from convrag import Register, hookimpl

# litellm reads these at import, and other libraries import it on their own: fetch no price list,
# read no .env file.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `llm=litellm` and `llm=openai_compatible`."""
    register(
        "llm",
        "litellm",
        "convrag_llms.litellm_llm:LiteLLM",
        "Ask a language model through litellm: a hosted one, or any server that speaks "
        "the OpenAI protocol.",
    )
    register(
        "llm",
        "openai_compatible",
        "convrag_llms.openai_compatible:OpenAICompatible",
        "Ask a server that speaks the OpenAI protocol: vLLM, SGLang, llama.cpp, Ollama, "
        "transformers serve, a gateway.",
        model="default",
        api_base="http://localhost:8000/v1",
    )
