"""The parameters of requests: what `extra` may not hold, and how each provider names the parameters of sampling."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from convrag import ConfigError, Message
from convrag.sdk.secrets import is_secret_name

log = logging.getLogger(__name__)

_NOT_EXTRA = {
    **{name: f"set llm.{name}" for name in ("model", "temperature", "top_p", "max_tokens", "seed", "stop", "timeout")},
    **dict.fromkeys(("api_base", "base_url"), "set llm.api_base"),
    **dict.fromkeys(("num_retries", "max_retries"), "set llm.retries"),
    **dict.fromkeys(("messages", "stream", "stream_options", "n", "caching"), "convrag sets it itself"),
}
_LOCAL = frozenset({"hosted_vllm", "llamafile", "lm_studio"})
_OLLAMA = frozenset({"ollama", "ollama_chat"})
_WITH_TOP_K = _LOCAL | _OLLAMA
_WITH_TOP_K |= {"anthropic", "cohere", "fireworks_ai", "gemini", "openrouter", "together_ai", "vertex_ai"}
_WITH_REPETITION_PENALTY = _LOCAL | {"fireworks_ai", "openrouter", "together_ai"}

_warned: set[tuple[str, str]] = set()


def check_extra(extra: Mapping[str, Any]) -> None:
    """Raise ConfigError for parameters that the option has itself, and for keys, of which it takes the variable's name.

    Headers may hold a key: a configuration refers to it, as in Authorization: "Bearer ${oc.env:MY_KEY}".
    """
    for name in extra:
        if name in _NOT_EXTRA:
            raise ConfigError(f"llm.extra.{name}: {_NOT_EXTRA[name]}")
        if is_secret_name(name, loose=True):
            raise ConfigError(
                f"llm.extra: {name!r} is named like a secret: keys come from the environment "
                "(llm.api_key_env names the variable)"
            )


def check_at_least(least: float, **values: float | None) -> None:
    """Raise ConfigError for a number below `least`; None, which is no limit, passes."""
    for name, value in values.items():
        if value is not None and value < least:
            raise ConfigError(f"llm.{name}={value}: it must be at least {least:g}")


def find_secret_values(parameters: Mapping[str, Any]) -> Iterator[str]:
    """The values of those parameters, at any depth, that are named like a secret; of "Bearer KEY" the key too."""
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from find_secret_values(value)
        elif is_secret_name(str(name), loose=True):
            yield from (str(value), str(value).rpartition(" ")[2])


def translate_sampling(sampling: Mapping[str, Any], provider: str, self_hosted: bool) -> dict[str, Any]:
    """Sampling parameters as a provider names them.

    `top_k` and `repeat_penalty` are left out, with one warning, for a provider that does not know them.

    Args:
        sampling: parameters by convrag's names.
        provider: as litellm names it.
        self_hosted: whether the server has an address of the user's own; one that speaks the OpenAI protocol knows
            more parameters than OpenAI.
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


def format_messages(messages: Sequence[Message], *, cache_control: bool = False) -> list[dict[str, Any]]:
    """Messages in the OpenAI format.

    Args:
        messages: the prompt's.
        cache_control: adds Anthropic's marks where what is worth caching ends: at the system message, and at the end of
            the prompt. A conversation's next turn begins with this prompt, and Anthropic finds the longest part of it
            that it has.
    """
    marked = {index for index, message in enumerate(messages) if message.role == "system"} | {len(messages) - 1}
    return [_format(message, cache_control and index in marked) for index, message in enumerate(messages)]


def _format(message: Message, cache_control: bool) -> dict[str, Any]:
    if not cache_control:
        return {"role": message.role, "content": message.content}
    block = {"type": "text", "text": message.content, "cache_control": {"type": "ephemeral"}}
    return {"role": message.role, "content": [block]}


def _leave_out(name: str, params: dict[str, Any], provider: str) -> None:
    value = params.pop(name)
    if (name, provider) not in _warned:
        _warned.add((name, provider))
        log.warning("%s=%s is left out of requests: %s has no such parameter", name, value, provider or "the provider")
