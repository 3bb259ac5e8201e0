"""A request's messages and parameters, as a provider names them."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from convrag import ConfigError, Message
from convrag.sdk.secrets import is_secret_name

log = logging.getLogger(__name__)

_NOT_EXTRA = {
    "model": "set llm.model",
    "temperature": "set llm.temperature",
    "top_p": "set llm.top_p",
    "max_tokens": "set llm.max_tokens",
    "seed": "set llm.seed",
    "stop": "set llm.stop",
    "timeout": "set llm.timeout",
    "api_base": "set llm.api_base",
    "base_url": "set llm.api_base",
    "num_retries": "set llm.retries",
    "max_retries": "set llm.retries",
    "messages": "convrag sets it itself",
    "stream": "convrag sets it itself",
    "stream_options": "convrag sets it itself",
    "n": "convrag sets it itself",
    "caching": "convrag sets it itself",
}
"""Parameters that `llm.extra` does not take -> what to do instead."""

_LOCAL = frozenset({"hosted_vllm", "llamafile", "lm_studio"})
_OLLAMA = frozenset({"ollama", "ollama_chat"})
_HOSTED_WITH_TOP_K = frozenset(
    {
        "anthropic",
        "cohere",
        "fireworks_ai",
        "gemini",
        "openrouter",
        "together_ai",
        "vertex_ai",
    }
)
_WITH_TOP_K = _LOCAL | _OLLAMA | _HOSTED_WITH_TOP_K
_WITH_REPETITION_PENALTY = _LOCAL | {"fireworks_ai", "openrouter", "together_ai"}

_warned: set[tuple[str, str]] = set()
"""Parameters and providers that a warning was logged for."""


def check_extra(extra: Mapping[str, Any]) -> None:
    """Check the parameters of `llm.extra`. Raises ConfigError.

    It takes neither parameters that the option has itself nor keys. Headers may hold a key: a
    configuration refers to it, as in Authorization: "Bearer ${oc.env:MY_KEY}".
    """
    for name in extra:
        if name in _NOT_EXTRA:
            raise ConfigError(f"llm.extra.{name}: {_NOT_EXTRA[name]}")
        if is_secret_name(name, loose=True):
            raise ConfigError(
                f"llm.extra: {name!r} is named like a secret: keys come from the environment "
                "(llm.api_key_env names the variable)"
            )


def find_secret_values(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of parameters, at any depth, that are named like a secret.

    "Bearer KEY" is yielded as a whole and as the key alone.
    """
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from find_secret_values(value)
        elif is_secret_name(str(name), loose=True):
            secret = str(value)
            yield secret
            yield secret.rpartition(" ")[2]


def translate_sampling(
    sampling: Mapping[str, Any], provider: str, self_hosted: bool
) -> dict[str, Any]:
    """Name sampling parameters as a provider does.

    A provider that does not know `top_k` or `repeat_penalty` is not sent them: one warning says so.

    Args:
        sampling: parameters by convrag's names.
        provider: as litellm names it.
        self_hosted: whether the server has an address of the user's own; one that speaks the OpenAI
            protocol knows more parameters than OpenAI.
    """
    params = dict(sampling)
    local = self_hosted and provider == "openai"
    if "top_k" in params and not (local or provider in _WITH_TOP_K):
        _leave_out("top_k", params, provider)
    if "repeat_penalty" in params and provider not in _OLLAMA:
        if local or provider in _WITH_REPETITION_PENALTY:
            params["repetition_penalty"] = params.pop("repeat_penalty")
        else:
            _leave_out("repeat_penalty", params, provider)
    return params


def format_messages(
    messages: Sequence[Message], *, cache_control: bool = False
) -> list[dict[str, Any]]:
    """Format messages as OpenAI's protocol has them.

    Args:
        messages: the prompt's.
        cache_control: adds Anthropic's marks where what is worth caching ends: at the system
            message, and at the end of the prompt. A conversation's next turn begins with this
            prompt, and Anthropic finds the longest part of it that it has.
    """
    formatted: list[dict[str, Any]] = []
    last = len(messages) - 1
    for index, message in enumerate(messages):
        content: Any = message.content
        if cache_control and (message.role == "system" or index == last):
            mark = {"type": "ephemeral"}
            content = [{"type": "text", "text": message.content, "cache_control": mark}]
        formatted.append({"role": message.role, "content": content})
    return formatted


def make_response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Make the parameter that asks for JSON with a schema; none without a schema.

    Args:
        schema: of `convrag.Prompt`.
    """
    if not schema:
        return {}
    named = {"name": str(schema.get("title") or "reply"), "schema": dict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _leave_out(name: str, params: dict[str, Any], provider: str) -> None:
    value = params.pop(name)
    if (name, provider) not in _warned:
        _warned.add((name, provider))
        log.warning(
            "%s=%s is left out of requests: %s has no such parameter",
            name,
            value,
            provider or "the provider",
        )
