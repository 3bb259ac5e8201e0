"""`InferenceConfig`: the model that `RAGPipeline` asks, as overrides of convrag's command line."""

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
        base_url: the server's address, with or without /v1; None takes the provider's own.
        max_tokens: the longest answer, in tokens.
        temperature: 0 gives the likeliest answer; None leaves it to the llm.
    """

    model_name: str
    backend: str = "sglang"
    base_url: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    def overrides(self) -> list[str]:
        """The overrides that choose this model. Raises UnknownName for an unknown backend."""
        if self.backend not in (*_SERVERS, "litellm"):
            raise UnknownName("InferenceConfig: backend", self.backend, (*_SERVERS, "litellm"))
        model = self.model_name if self.backend == "litellm" else f"openai/{self.model_name}"
        chosen = ["llm=litellm", f"llm.model={quote_override(model)}"]
        if self.base_url is not None:
            chosen.append(f"llm.api_base={quote_override(self._api_base(self.base_url))}")
        if self.max_tokens is not None:
            chosen.append(f"llm.max_tokens={self.max_tokens}")
        if self.temperature is not None:
            chosen.append(f"llm.temperature={self.temperature}")
        return chosen

    def _api_base(self, base_url: str) -> str:
        """The address with /v1, which servers of the OpenAI protocol need."""
        url = base_url.rstrip("/")
        return url if self.backend == "litellm" or url.endswith("/v1") else f"{url}/v1"


def quote_override(value: object) -> str:
    """A value as Hydra reads it back unchanged, whatever characters it holds."""
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\$")
    return f"'{escaped}'"
