"""Who is asked: a model behind an address, with a key from the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from convrag import LLMError
from convrag_litellm import providers
from convrag_litellm.secrets import is_public, public_address

_PLACEHOLDER = "not-needed"  # OpenAI's client insists on a key; a local server does not look at it


@dataclass(frozen=True)
class Server:
    """See LiteLLM for the parameters."""

    model: str
    api_base: str | None
    api_base_env: str | None
    api_key_env: str | None

    @property
    def provider(self) -> str:
        """As litellm names it; empty where that is left to litellm to guess."""
        return providers.provider_of(self.model)

    def address(self) -> str | None:
        """Where to ask, with whatever secret stands in it; None is the provider's own."""
        return os.environ.get(self.api_base_env) if self.api_base_env else self.api_base

    def public_address(self) -> str | None:
        """The same without what may be secret."""
        address = self.address()
        return public_address(address) if address else None

    def key(self) -> str | None:
        """The key; None lets litellm look where the provider's usually is. Raises LLMError where there is none."""
        if self.api_key_env is None:
            return _PLACEHOLDER if self.is_own() else None
        if key := os.environ.get(self.api_key_env):
            return key
        message = f"{self.api_key_env} is not set: export it, with the key for {self.model}"
        raise LLMError(message, provider=self.provider, model=self.model)

    def is_own(self) -> bool:
        """Whether it is at an address of one's own, rather than the provider's."""
        return bool(self.api_base or self.api_base_env) and self.provider not in providers.ACCOUNT_ADDRESSES

    def problems(self) -> Iterator[str]:
        """What is missing: variables, or the server itself where it is one's own."""
        for name in self._unset():
            yield f"{name} is not set: export it or choose llm=extractive"
        if self.api_base and not is_public(self.api_base):
            yield (
                "llm.api_base holds a password or a key, and would be written into the run's files: "
                "put the address into an environment variable, and its name into llm.api_base_env"
            )
        elif (address := self.address()) and (reason := providers.unreachable(address)):
            yield f"nothing answers at {public_address(address)} ({reason}): start the server, or set llm.api_base"

    def _unset(self) -> list[str]:
        named = [name for name in (self.api_key_env, self.api_base_env) if name and not os.environ.get(name)]
        usual = [] if self.api_key_env or self.is_own() else providers.missing_keys(self.model)
        return [*named, *usual]
