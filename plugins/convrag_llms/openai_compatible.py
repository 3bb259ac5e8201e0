"""`llm=openai_compatible`."""

from __future__ import annotations

from typing import Annotated, Any

from convrag import operational
from convrag_llms.endpoint import Endpoint
from convrag_llms.http_llm import HttpLLM
from convrag_llms.openai_client import PREFIX, OpenAIClient


class OpenAICompatible(HttpLLM):
    """Ask a server that speaks the OpenAI protocol: vLLM, SGLang, llama.cpp, Ollama, transformers serve, a gateway.

    Requests go there directly, at a seventh of the processor time that they take through litellm (streamed, a
    fifteenth). Requests that may succeed later (limits reached, timeouts, server errors, cut-off or empty replies) are
    repeated with exponential backoff, or when the server says (Retry-After). A stage that asks may override
    temperature, top_p, max_tokens, seed and stop.

    Tokens that the server does not count are estimated: a token for up to 7 letters of a word, 3 digits, 2 signs, or 3
    bytes of other scripts. A server on this machine or in a private network costs nothing unless `extra` has prices;
    any other costs what its provider lists for the model (the package genai-prices), if it is listed there.

    Args:
        model: as the server names it; openai/ before the name is left out.
        api_base: the server's address. None is OpenAI's own, or what OPENAI_BASE_URL says. It is written into the run's
            files: one with a password goes into a variable that api_base_env names.
        api_base_env: the NAME of an environment variable that holds the address instead.
        api_key_env: the NAME of the environment variable that holds the key. None sends no key (OPENAI_API_KEY, where
            api_base is None).
        temperature: 0 gives the likeliest reply, more gives more varied ones; None leaves it to the model.
        top_p: share of the likeliest tokens to draw from, 0 to 1; None leaves it to the model.
        max_tokens: the longest reply, in tokens; None leaves it to the model.
        seed: for servers that can repeat a draw; None sends none.
        stop: texts at which a reply ends; None or none at all sends none.
        extra: what else the server takes, by name (top_k, guided_json, ...), sent as it is. extra_headers are sent as
            headers. Prices go here as well: input_cost_per_token and output_cost_per_token, in US dollars.
        timeout: seconds for each try, from the request to the last byte of the reply.
        concurrency: requests in flight at a time; None does not limit them.
        requests_per_minute: requests begun in any 60 seconds; None does not limit them.
        retries: how often a failed request is repeated: 5 waits of 1, 2, 4, 8 and 16 seconds, each with up to a second
            of jitter, outlast an outage of half a minute. Where nothing listens at the address, 2 waits of a second.
        retry_seconds: seconds that a call may wait between its tries, all waits together; it fails where the server
            asks for a longer wait.
        max_cost_usd: US dollars that this stage may spend in this process; the run is stopped, with all that was done
            kept, before a request that could pass it. Tries that time out count as if their reply had been full length.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
    """

    env_vars = ("OPENAI_API_KEY",)

    def __init__(
        self,
        *,
        model: str = "default",
        api_base: str | None = "http://localhost:8000/v1",
        api_base_env: str | None = None,
        api_key_env: str | None = None,
        temperature: float | None = 0.0,
        top_p: float | None = None,
        max_tokens: int | None = 512,
        seed: int | None = None,
        stop: list[str] | None = None,
        extra: dict[str, Any] = {},  # noqa: B006 - read only
        timeout: Annotated[float, operational] = 60.0,
        concurrency: Annotated[int | None, operational] = None,
        requests_per_minute: Annotated[int | None, operational] = None,
        retries: Annotated[int, operational] = 5,
        retry_seconds: Annotated[float, operational] = 120.0,
        max_cost_usd: Annotated[float | None, operational] = None,
    ) -> None:
        self.model = model
        name = f"{PREFIX}{model.removeprefix(PREFIX)}"
        super().__init__(
            OpenAIClient(Endpoint(name, api_base, api_base_env, api_key_env), extra),
            extra,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            seed=seed,
            stop=stop,
            timeout=timeout,
            concurrency=concurrency,
            requests_per_minute=requests_per_minute,
            retries=retries,
            retry_seconds=retry_seconds,
            max_cost_usd=max_cost_usd,
        )
