"""What is known of a model's provider before any request: the variables of its key, and whether a server answers."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

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
"""Provider -> the environment variables of which it reads one, the usual one first: litellm's, without importing it."""

KEYLESS = frozenset(
    {"bedrock", "hosted_vllm", "llamafile", "lm_studio", "ollama", "ollama_chat", "sagemaker", "vertex_ai"}
)
"""Providers that need no key, or find their credentials elsewhere too (files, the machine's own role)."""

ACCOUNT_ADDRESSES = frozenset({"azure", "azure_ai"})
"""Providers that give each account an address of its own: one given for them takes the provider's key."""

CONNECT_TIMEOUT = 2.0
"""Seconds that `find_connection_problem` waits for a connection."""


def parse_provider(model: str) -> str:
    """The provider in litellm's provider/model; empty where it is left to litellm to guess."""
    return model.partition("/")[0] if "/" in model else ""


def find_missing_keys(provider: str) -> Sequence[str] | None:
    """The environment variables that a provider needs and that are not set; None for one that is not known here."""
    if provider in KEYLESS:
        return []
    if names := KEY_VARIABLES.get(provider):
        return [] if any(os.environ.get(name) for name in names) else names[:1]
    return None


def find_address_in_environment(provider: str) -> str | None:
    """The address that litellm finds in the environment if it is given none, such as OPENAI_BASE_URL; None without one.

    Args:
        provider: as litellm names it; where it is left to litellm to guess (""), the variables of all providers count.
    """
    prefixes = [
        prefix for name in ([provider] if provider else sorted(KEY_VARIABLES)) for prefix in _name_prefixes(name)
    ]
    names = (f"{prefix}_{ending}" for prefix in prefixes for ending in ("BASE_URL", "API_BASE"))
    return next((address for name in names if (address := os.environ.get(name))), None)


def _name_prefixes(provider: str) -> Sequence[str]:
    """The beginnings of a provider's variables: together_ai has TOGETHER_AI, TOGETHERAI and TOGETHER."""
    upper = provider.upper()
    return list(dict.fromkeys([upper, upper.replace("_", ""), upper.partition("_")[0]]))


def find_connection_problem(address: str) -> str:
    """Why no server accepts a connection at an address; empty where one does, or where a proxy is in between."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(address)
    if not parts.hostname or parts.scheme not in ("http", "https"):
        return "it is no address such as http://localhost:8000/v1"
    if parts.scheme in getproxies() and not proxy_bypass(parts.hostname):
        return ""
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), CONNECT_TIMEOUT).close()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error) or type(error).__name__
    return ""
