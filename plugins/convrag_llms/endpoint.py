"""Where requests are sent, with a key from the environment, and the parameters that a provider
takes.
"""

import logging
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from convrag import ConfigError, LLMError, Message
from convrag.sdk.secrets import is_public_address, is_secret_name, redact_address

KEY_VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure": ("AZURE_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together_ai": ("TOGETHER_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY"),
    "xai": ("XAI_API_KEY",),
}
"""Provider -> the environment variables of its key, the usual one first: as litellm has them,
without importing it.
"""

_KEYLESS = frozenset(
    {
        "bedrock",
        "hosted_vllm",
        "llamafile",
        "lm_studio",
        "ollama",
        "ollama_chat",
        "sagemaker",
        "vertex_ai",
    }
)
"""Providers that need no key, or find their credentials elsewhere too (files, the machine's own
role).
"""

_ACCOUNT_ADDRESSES = frozenset({"azure", "azure_ai"})
"""Providers that give each account an address of its own: one given for them takes the provider's
key.
"""

_CONNECT_TIMEOUT = 2.0  # seconds that a check waits for a connection


@dataclass(frozen=True)
class Endpoint:
    """A model at a server; see the options for the parameters.

    Raises:
        ConfigError: what should be a variable's name is none.
    """

    model: str
    api_base: str | None
    api_base_env: str | None
    api_key_env: str | None

    def __post_init__(self) -> None:
        for name, variable in (
            ("api_key_env", self.api_key_env),
            ("api_base_env", self.api_base_env),
        ):
            # It may be the key itself, so the message does not repeat it.
            if variable is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", variable):
                raise ConfigError(
                    f"llm.{name} must be the name of an environment variable, such as OPENAI_API_KEY"
                )

    @property
    def provider(self) -> str:
        """The provider as litellm names it; empty where litellm finds it by the model's name."""
        return self.model.partition("/")[0] if "/" in self.model else ""

    def address(self) -> str | None:
        """The server's address, with any secrets in it; None is the provider's own."""
        return os.environ.get(self.api_base_env) if self.api_base_env else self.api_base

    def address_in_environment(self) -> str | None:
        """The address that litellm finds in the provider's variables if it is given none, such as
        OPENAI_BASE_URL.

        Where the provider is left to litellm to guess, the variables of all providers count.
        """
        providers = [self.provider] if self.provider else sorted(KEY_VARIABLES)
        prefixes = [prefix for provider in providers for prefix in _name_prefixes(provider.upper())]
        names = (f"{prefix}_{ending}" for prefix in prefixes for ending in ("BASE_URL", "API_BASE"))
        return next((address for name in names if (address := os.environ.get(name))), None)

    def public_address(self) -> str | None:
        """The server's address without user, password and query; None is the provider's own."""
        address = self.address() or self.address_in_environment()
        return redact_address(address) if address else None

    def api_key(self) -> str | None:
        """The key that api_key_env names; None without one. Raises LLMError where that variable is
        not set.
        """
        if self.api_key_env is None:
            return None
        if key := os.environ.get(self.api_key_env):
            return key
        message = f"{self.api_key_env} is not set: export it, with the key for {self.model}"
        raise LLMError(message, provider=self.provider, model=self.model)

    def is_self_hosted(self) -> bool:
        """Whether the server has an address of the user's own, rather than the provider's."""
        return bool(self.api_base or self.api_base_env) and self.provider not in _ACCOUNT_ADDRESSES

    def find_missing_keys(self) -> Sequence[str] | None:
        """The variables of the provider's key, where none of them is set; None for a provider that
        is not known.
        """
        if self.provider in _KEYLESS:
            return []
        if names := KEY_VARIABLES.get(self.provider):
            return [] if any(os.environ.get(name) for name in names) else names[:1]
        return None

    def problems(self) -> Iterator[str]:
        """What is missing, and what to do: variables that are not set, or a self-hosted server that
        does not answer.
        """
        missing = [
            name
            for name in (self.api_key_env, self.api_base_env)
            if name and not os.environ.get(name)
        ]
        if not self.api_key_env and not self.is_self_hosted():
            missing += self.find_missing_keys() or []
        if not self.provider and ":11434" in (self.api_base or ""):
            yield f"llm.model=ollama_chat/{self.model}: the name of Ollama's models begins so for litellm"
        for name in missing:
            yield f"{name} is not set: export it or choose llm=extractive"
        if self.api_base and not is_public_address(self.api_base):
            yield (
                "llm.api_base holds a password or a key: put the address into an environment variable, and the "
                "variable's name into llm.api_base_env"
            )
        elif (address := self.address()) and (reason := _find_connection_problem(address)):
            yield f"nothing answers at {redact_address(address)} ({reason}): start the server, or set llm.api_base"


def _name_prefixes(provider: str) -> Sequence[str]:
    """The beginnings of a provider's variables: TOGETHER_AI has TOGETHER_AI, TOGETHERAI and
    TOGETHER.
    """
    return list(dict.fromkeys([provider, provider.replace("_", ""), provider.partition("_")[0]]))


def _find_connection_problem(address: str) -> str:
    """Why no server accepts a connection at an address; empty where one does, or where a proxy is
    in between.
    """
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(address)
    if not parts.hostname or parts.scheme not in ("http", "https"):
        return "it is no address such as http://localhost:8000/v1"
    if parts.scheme in getproxies() and not proxy_bypass(parts.hostname):
        return ""
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), _CONNECT_TIMEOUT).close()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error) or type(error).__name__
    return ""


log = logging.getLogger(__name__)

_NOT_EXTRA = {
    **{
        name: f"set llm.{name}"
        for name in ("model", "temperature", "top_p", "max_tokens", "seed", "stop", "timeout")
    },
    **dict.fromkeys(("api_base", "base_url"), "set llm.api_base"),
    **dict.fromkeys(("num_retries", "max_retries"), "set llm.retries"),
    **dict.fromkeys(
        ("messages", "stream", "stream_options", "n", "caching"), "convrag sets it itself"
    ),
}
_LOCAL = frozenset({"hosted_vllm", "llamafile", "lm_studio"})
_OLLAMA = frozenset({"ollama", "ollama_chat"})
_WITH_TOP_K = _LOCAL | _OLLAMA
_WITH_TOP_K |= {
    "anthropic",
    "cohere",
    "fireworks_ai",
    "gemini",
    "openrouter",
    "together_ai",
    "vertex_ai",
}
_WITH_REPETITION_PENALTY = _LOCAL | {"fireworks_ai", "openrouter", "together_ai"}

_warned: set[tuple[str, str]] = set()


def check_extra(extra: Mapping[str, Any]) -> None:
    """Raise ConfigError for parameters that the option has itself, and for keys, of which it takes
    the variable's name.

    Headers may hold a key: a configuration refers to it, as in Authorization: "Bearer
    ${oc.env:MY_KEY}".
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
    """The values of those parameters, at any depth, that are named like a secret; of "Bearer KEY"
    the key too.
    """
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from find_secret_values(value)
        elif is_secret_name(str(name), loose=True):
            yield from (str(value), str(value).rpartition(" ")[2])


def translate_sampling(
    sampling: Mapping[str, Any], provider: str, self_hosted: bool
) -> dict[str, Any]:
    """Sampling parameters as a provider names them.

    `top_k` and `repeat_penalty` are left out, with one warning, for a provider that does not know
    them.

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
    """Messages in the OpenAI format.

    Args:
        messages: the prompt's.
        cache_control: adds Anthropic's marks where what is worth caching ends: at the system
            message, and at the end of the prompt. A conversation's next turn begins with this
            prompt, and Anthropic finds the longest part of it that it has.
    """
    marked = {index for index, message in enumerate(messages) if message.role == "system"} | {
        len(messages) - 1
    }
    return [
        _format(message, cache_control and index in marked)
        for index, message in enumerate(messages)
    ]


def _format(message: Message, cache_control: bool) -> dict[str, Any]:
    if not cache_control:
        return {"role": message.role, "content": message.content}
    block = {"type": "text", "text": message.content, "cache_control": {"type": "ephemeral"}}
    return {"role": message.role, "content": [block]}


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
