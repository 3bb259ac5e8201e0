"""Where requests are sent: a model of a provider, at an address, with a key from the environment."""

import os
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from convrag import ConfigError, LLMError
from convrag.sdk.secrets import is_public_address, redact_address

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
"""Provider -> the environment variables of its key, the usual one first: as litellm has them, without importing it."""

_KEYLESS = frozenset(
    {"bedrock", "hosted_vllm", "llamafile", "lm_studio", "ollama", "ollama_chat", "sagemaker", "vertex_ai"}
)
"""Providers that need no key, or find their credentials elsewhere too (files, the machine's own role)."""

_ACCOUNT_ADDRESSES = frozenset({"azure", "azure_ai"})
"""Providers that give each account an address of its own: one given for them takes the provider's key."""

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
        for name, variable in (("api_key_env", self.api_key_env), ("api_base_env", self.api_base_env)):
            # It may be the key itself, so the message does not repeat it.
            if variable is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", variable):
                raise ConfigError(f"llm.{name} must be the name of an environment variable, such as OPENAI_API_KEY")

    @property
    def provider(self) -> str:
        """The provider as litellm names it; empty where litellm finds it by the model's name."""
        return self.model.partition("/")[0] if "/" in self.model else ""

    def address(self) -> str | None:
        """The server's address, with any secrets in it; None is the provider's own."""
        return os.environ.get(self.api_base_env) if self.api_base_env else self.api_base

    def address_in_environment(self) -> str | None:
        """The address that litellm finds in the provider's variables if it is given none, such as OPENAI_BASE_URL.

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
        """The key that api_key_env names; None without one. Raises LLMError where that variable is not set."""
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
        """The variables of the provider's key, where none of them is set; None for a provider that is not known."""
        if self.provider in _KEYLESS:
            return []
        if names := KEY_VARIABLES.get(self.provider):
            return [] if any(os.environ.get(name) for name in names) else names[:1]
        return None

    def problems(self) -> Iterator[str]:
        """What is missing, and what to do: variables that are not set, or a self-hosted server that does not answer."""
        missing = [name for name in (self.api_key_env, self.api_base_env) if name and not os.environ.get(name)]
        if not self.api_key_env and not self.is_self_hosted():
            missing += self.find_missing_keys() or []
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
    """The beginnings of a provider's variables: TOGETHER_AI has TOGETHER_AI, TOGETHERAI and TOGETHER."""
    return list(dict.fromkeys([provider, provider.replace("_", ""), provider.partition("_")[0]]))


def _find_connection_problem(address: str) -> str:
    """Why no server accepts a connection at an address; empty where one does, or where a proxy is in between."""
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
