"""Where requests are sent, with a key from the environment."""

import ipaddress
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
"""Provider -> the environment variables of its key, the usual one first.

They are litellm's, listed here so that litellm need not be imported.
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
"""Providers that need no key, or also find credentials elsewhere (files, the machine's role)."""

_ACCOUNT_ADDRESSES = frozenset({"azure", "azure_ai"})
"""Providers with an address for each account: an address of theirs takes the provider's key."""

OPENAI_ADDRESS = "https://api.openai.com/v1"
"""OpenAI's own address, which is sent the key of OPENAI_API_KEY."""

USUAL_ADDRESSES = (
    "vLLM listens at http://localhost:8000/v1, llama.cpp at http://localhost:8080/v1, Ollama at "
    "http://localhost:11434/v1, LM Studio at http://localhost:1234/v1, unless told otherwise"
)
"""Where model servers are found, for messages."""

CONVRAG_HEADER = "x-convrag"
"""The header of every reply of convrag's own server (`convrag_web`)."""
_WITHOUT_KEY = {"llm": "extractive", "embedder": "lsa", "ranker": "bm25"}
"""Group -> an option that needs no key."""

_CONNECT_TIMEOUT = 2.0
"""Seconds that a check waits for a connection, and for the first reply."""

_VARIABLE_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


@dataclass(frozen=True)
class Endpoint:
    """A model at a server; see the options for the parameters.

    Args:
        place: the group of the option, for messages. Problems that a check finds say `{place}`.

    Raises:
        ConfigError: api_base_env or api_key_env is not the name of a variable.
    """

    model: str
    api_base: str | None
    api_base_env: str | None
    api_key_env: str | None
    place: str = "llm"

    def __post_init__(self) -> None:
        given = {"api_key_env": self.api_key_env, "api_base_env": self.api_base_env}
        for name, variable in given.items():
            # It may be the key itself, so the message does not repeat it.
            if variable is not None and not _VARIABLE_NAME.fullmatch(variable):
                raise ConfigError(
                    f"{self.place}.{name} must be the name of an environment variable, such as "
                    "OPENAI_API_KEY"
                )

    @property
    def provider(self) -> str:
        """Return the provider as litellm names it; empty where litellm guesses it."""
        return self.model.partition("/")[0] if "/" in self.model else ""

    def address(self) -> str | None:
        """Return the server's address, with any secrets in it; None is the provider's own."""
        return os.environ.get(self.api_base_env) if self.api_base_env else self.api_base

    def address_in_environment(self) -> str | None:
        """Return the address in the provider's variables (OPENAI_BASE_URL, ...); None without one.

        litellm takes it where it is given no address. Where the provider is left to litellm to
        guess, the variables of all providers count.
        """
        providers = [self.provider] if self.provider else sorted(KEY_VARIABLES)
        for provider in providers:
            for prefix in _list_prefixes(provider.upper()):
                for ending in ("BASE_URL", "API_BASE"):
                    if address := os.environ.get(f"{prefix}_{ending}"):
                        return address
        return None

    def public_address(self) -> str | None:
        """Return the address without user, password and query; None is the provider's own."""
        address = self.address() or self.address_in_environment()
        return redact_address(address) if address else None

    def api_key(self) -> str | None:
        """Return the key that api_key_env names; None without api_key_env.

        Raises:
            LLMError: the variable is not set.
        """
        if self.api_key_env is None:
            return None
        if key := os.environ.get(self.api_key_env):
            return key
        message = f"{self.api_key_env} is not set: export it, with the key for {self.model}"
        raise LLMError(message, provider=self.provider, model=self.model)

    def is_self_hosted(self) -> bool:
        """Whether the server has an address of the user's own, rather than the provider's."""
        if (self.api_base or "").rstrip("/") == OPENAI_ADDRESS:
            return False
        return bool(self.api_base or self.api_base_env) and self.provider not in _ACCOUNT_ADDRESSES

    def find_missing_keys(self) -> Sequence[str] | None:
        """Return the usual variable of the provider's key where none of its variables is set.

        None for a provider that is not known.
        """
        if self.provider in _KEYLESS:
            return []
        names = KEY_VARIABLES.get(self.provider)
        if names is None:
            return None
        is_set = any(os.environ.get(name) for name in names)
        return [] if is_set else names[:1]

    def problems(self) -> Iterator[str]:
        """Yield what is missing, and what to do about it.

        That is a variable that is not set, or a self-hosted server that does not answer.
        """
        missing = [
            name
            for name in (self.api_key_env, self.api_base_env)
            if name and not os.environ.get(name)
        ]
        if not self.api_key_env and not self.is_self_hosted():
            missing += self.find_missing_keys() or []
        if not self.provider and ":11434" in (self.api_base or ""):
            yield (
                f"{{place}}.model=ollama_chat/{self.model}: the name of Ollama's models "
                "begins so for litellm"
            )
        for name in missing:
            option = _WITHOUT_KEY[self.place]
            yield f"{name} is not set: export it or choose {{place}}={option}"
        if self.api_base and not is_public_address(self.api_base):
            yield (
                "{place}.api_base holds a password or a key: put the address into an environment "
                "variable, and the variable's name into {place}.api_base_env"
            )
            return
        address = self.address()
        if address is None:
            return
        reason = _find_connection_problem(address)
        if reason:
            yield (
                f"nothing answers at {redact_address(address)} ({reason}): start the server, or "
                "set {place}.api_base"
            )
        elif _is_convrag(address):
            yield (
                f"{{place}}.api_base={redact_address(address)} is a server of convrag, not of a "
                f"model. Set it to the model's: {USUAL_ADDRESSES}"
            )


def is_private(address: str) -> bool:
    """Whether an address belongs to this machine or to a private network.

    These have a private IP address, or a name without a dot or with a local ending.
    """
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))


def _list_prefixes(provider: str) -> Sequence[str]:
    """List how a provider's variables begin: TOGETHER_AI, TOGETHERAI and TOGETHER for one."""
    prefixes = [provider, provider.replace("_", ""), provider.partition("_")[0]]
    return list(dict.fromkeys(prefixes))


def _find_connection_problem(address: str) -> str:
    """Say why no server accepts a connection at an address.

    Empty where one does, or where a proxy is in between.
    """
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(address)
    if not parts.hostname or parts.scheme not in ("http", "https"):
        return "it is not an address such as http://localhost:8000/v1"
    if parts.scheme in getproxies() and not proxy_bypass(parts.hostname):
        return ""
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), _CONNECT_TIMEOUT).close()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error) or type(error).__name__
    return ""


def _is_convrag(address: str) -> bool:
    """Whether convrag's own server answers at an address without TLS."""
    from http.client import HTTPConnection, HTTPException

    parts = urlsplit(address)
    if parts.scheme != "http":
        return False
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_CONNECT_TIMEOUT)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/models")
        return connection.getresponse().getheader(CONVRAG_HEADER) is not None
    except (OSError, HTTPException):
        return False  # another server, which may take its time
    finally:
        connection.close()
