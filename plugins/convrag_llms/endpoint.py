"""Where requests are sent: a model at an address, with a key from the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from convrag import ConfigError, LLMError
from convrag.sdk.secrets import is_public_address, redact_address
from convrag_llms import providers
from convrag_llms.validation import check_variable_name


@dataclass(frozen=True)
class Endpoint:
    """A model at a server; see the options for the parameters."""

    model: str
    api_base: str | None
    api_base_env: str | None
    api_key_env: str | None

    @classmethod
    def list_checked(
        cls, model: str, api_base: str | Sequence[str] | None, api_base_env: str | None, api_key_env: str | None
    ) -> list[Self]:
        """Make those of an option's parameters: one for each address.

        Raises:
            ConfigError: what should be a variable's name is none, or the list of addresses is empty or names one twice.
        """
        for name, variable in (("api_key_env", api_key_env), ("api_base_env", api_base_env)):
            if variable is not None:
                check_variable_name(variable, name)
        addresses = [api_base] if isinstance(api_base, str | None) else list(api_base)
        if not addresses:
            raise ConfigError("llm.api_base=[]: name at least one server")
        if repeated := next((each for n, each in enumerate(addresses) if each in addresses[:n]), None):
            raise ConfigError(f"llm.api_base names the server {repeated} twice")
        if len(addresses) > 1 and api_base_env is not None:
            raise ConfigError("llm.api_base_env names one address, and llm.api_base several: give one of the two")
        return [cls(model, each, api_base_env, api_key_env) for each in addresses]

    @property
    def provider(self) -> str:
        """The provider as litellm names it; empty where litellm finds it by the model's name."""
        return providers.parse_provider(self.model)

    def address(self) -> str | None:
        """The server's address, with any secrets in it; None is the provider's own."""
        return os.environ.get(self.api_base_env) if self.api_base_env else self.api_base

    def public_address(self) -> str | None:
        """The server's address without user, password and query; None is the provider's own.

        Where neither parameter names one, litellm itself looks for one in the provider's variables.
        """
        address = self.address() or providers.find_address_in_environment(self.provider)
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
        return bool(self.api_base or self.api_base_env) and self.provider not in providers.ACCOUNT_ADDRESSES

    def find_missing_keys(self) -> Sequence[str]:
        """The environment variables that this model's provider needs and that are not set, as far as it is known."""
        return providers.find_missing_keys(self.provider) or []

    def problems(self) -> Iterator[str]:
        """What is missing, and what to do: variables that are not set, or a self-hosted server that does not answer."""
        for name in self._missing_variables():
            yield f"{name} is not set: export it or choose llm=extractive"
        if self.api_base and not is_public_address(self.api_base):
            yield (
                "llm.api_base holds a password or a key: put the address into an environment variable, and the "
                "variable's name into llm.api_base_env"
            )
        elif (address := self.address()) and (reason := providers.find_connection_problem(address)):
            yield f"nothing answers at {redact_address(address)} ({reason}): start the server, or set llm.api_base"

    def _missing_variables(self) -> list[str]:
        named = [name for name in (self.api_key_env, self.api_base_env) if name and not os.environ.get(name)]
        return [*named, *([] if self.api_key_env or self.is_self_hosted() else self.find_missing_keys())]
