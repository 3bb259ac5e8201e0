"""`llm=litellm`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from convrag import Completion, ConfigError, Prompt, operational
from convrag_llms.endpoint import KEY_VARIABLES
from convrag_llms.http_llm import HttpLLM
from convrag_llms.litellm_client import LiteLLMClient, LitellmEndpoint
from convrag_llms.parameters import format_messages


class LiteLLM(HttpLLM):
    """Ask a language model through litellm: a hosted one, or any server that speaks the OpenAI protocol.

    Requests that may succeed later (limits reached, timeouts, server errors, cut-off or empty replies) are repeated
    with exponential backoff, or when the server says (Retry-After). A stage that asks may override temperature, top_p,
    max_tokens, seed and stop.

    Args:
        model: as litellm names it: provider/model, such as openai/gpt-4o; openai/<name> for a server of your own.
        api_base: the server's address, such as http://localhost:8000/v1; None is the provider's own. It is written into
            the run's files: one with a password goes into a variable that api_base_env names.
        api_base_env: the NAME of an environment variable that holds the address instead.
        api_key_env: the NAME of the environment variable that holds the key. None takes the provider's usual one
            (OPENAI_API_KEY) or, with an address of your own, none at all (azure: AZURE_API_KEY).
        temperature: 0 gives the likeliest reply, more gives more varied ones; None leaves it to the model.
        top_p: share of the likeliest tokens to draw from, 0 to 1; None leaves it to the model.
        max_tokens: the longest reply, in tokens; None leaves it to the model.
        seed: for servers that can repeat a draw; None sends none.
        stop: texts at which a reply ends; None or none at all sends none.
        extra: what else litellm or this provider takes, by name (num_ctx, api_version, reasoning_effort, ...), sent
            as it is. Prices of a model that litellm does not know go here as well: input_cost_per_token and
            output_cost_per_token, in US dollars.
        cache_prompts: marks prompts of Claude as worth caching at the provider, so that a conversation's next turn pays
            a tenth for what it repeats, where that is 1,024 tokens or more (writing costs a quarter more). Others
            cache by themselves.
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

    requires: ClassVar[Mapping[str, str]] = {"litellm": "convrag[litellm]"}
    env_vars = tuple(name for names in KEY_VARIABLES.values() for name in names)

    def __init__(
        self,
        *,
        model: str,
        api_base: str | None = None,
        api_base_env: str | None = None,
        api_key_env: str | None = None,
        temperature: float | None = 0.0,
        top_p: float | None = None,
        max_tokens: int | None = 512,
        seed: int | None = None,
        stop: list[str] | None = None,
        extra: dict[str, Any] = {},  # noqa: B006 - read only
        cache_prompts: Annotated[bool, operational] = False,
        timeout: Annotated[float, operational] = 60.0,
        concurrency: Annotated[int | None, operational] = None,
        requests_per_minute: Annotated[int | None, operational] = None,
        retries: Annotated[int, operational] = 5,
        retry_seconds: Annotated[float, operational] = 120.0,
        max_cost_usd: Annotated[float | None, operational] = None,
    ) -> None:
        if cache_prompts and "claude" not in model:
            raise ConfigError(f"llm.cache_prompts=true is for Claude: {model} has no such marks")
        self.model = model
        self.cache_prompts = cache_prompts
        super().__init__(
            LiteLLMClient(LitellmEndpoint(model, api_base, api_base_env, api_key_env), extra),
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

    def complete(self, prompt: Prompt) -> Completion:
        """Ask, at most 1 + `retries` times. Raises LLMError, and RunStopped at the cost limit."""
        body = self.build_body(prompt)
        if self.cache_prompts:
            body["messages"] = format_messages(prompt.messages, cache_control=True)
        return self.send(body, prompt)
