"""`InferenceConfig`: the seed's way of naming a model, as overrides."""

from __future__ import annotations

from dataclasses import dataclass

from convrag import UnknownName

_SERVERS = ("sglang", "vllm", "openai")


@dataclass(frozen=True)
class InferenceConfig:
    """Which model answers, and where.

    Args:
        model_name: as the server names it; with backend "litellm", as litellm does.
        backend: "sglang", "vllm" or "openai" (any server of the OpenAI protocol), or "litellm" (any provider).
        base_url: the server's address, with or without /v1; None is the provider's own.
        max_tokens: the longest answer, in tokens.
        temperature: 0 gives the likeliest answer; None leaves it to the llm.
    """

    model_name: str
    backend: str = "sglang"
    base_url: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    def overrides(self) -> list[str]:
        """The same as overrides of the command line. Raises UnknownName for a backend that there is not."""
        if self.backend not in (*_SERVERS, "litellm"):
            raise UnknownName("InferenceConfig: backend", self.backend, (*_SERVERS, "litellm"))
        model = self.model_name if self.backend == "litellm" else f"openai/{self.model_name}"
        chosen = ["llm=litellm", f"llm.model={quoted(model)}"]
        if self.base_url is not None:
            chosen.append(f"llm.api_base={quoted(self._address(self.base_url))}")
        if self.max_tokens is not None:
            chosen.append(f"llm.max_tokens={self.max_tokens}")
        if self.temperature is not None:
            chosen.append(f"llm.temperature={self.temperature}")
        return chosen

    def _address(self, base_url: str) -> str:
        address = base_url.rstrip("/")
        return address if self.backend == "litellm" or address.endswith("/v1") else f"{address}/v1"


def quoted(value: object) -> str:
    """A value as Hydra reads it back unchanged, whatever signs it holds."""
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\$")
    return f"'{escaped}'"
