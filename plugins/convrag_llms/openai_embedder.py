"""`embedder=openai_compatible`: a server with OpenAI's `/embeddings`, asked directly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from convrag_llms.embedder import ServerEmbedder
from convrag_llms.embedding_reply import Vectors, read_vectors
from convrag_llms.json_requests import post_json, read_tokens
from convrag_llms.prices import TokenPrices, compute_server_cost, find_server_prices
from convrag_llms.targets import (
    PREFIX,
    find_address,
    find_given_address,
    find_model_name,
    list_missing_address,
)
from convrag_llms.tokens import estimate_tokens

_PROVIDERS = {
    "api.cohere.com": "cohere",
    "api.jina.ai": "jina_ai",
    "api.voyageai.com": "voyage",
    "integrate.api.nvidia.com": "nvidia_nim",
}
"""Host -> the provider."""


@dataclass(kw_only=True, eq=False)
class OpenAICompatibleEmbedder(ServerEmbedder):
    """Embed texts at a server with OpenAI's /embeddings: vLLM, TEI, Ollama, llama.cpp, OpenAI.

    Vectors of passages are stored as they come, so that an index build that is killed pays for
    nothing twice. Requests that may succeed later are repeated; a batch that is refused as too
    large is split; a text that is too long for the model is cut, with a note in the summary.

    A server on this machine or in a private network costs nothing unless `extra` has a price; any
    other costs what its provider lists for the model (the package genai-prices), if it is listed.

    Args:
        model: as the server names it.
        api_base: the server's address, such as http://localhost:8080/v1; None is what the variable
            OPENAI_BASE_URL says, which needs to be set then. It is written into the run's files:
            one with a password goes into a variable that api_base_env names.
        api_key_env: the NAME of the environment variable that holds the key. None sends no key, but
            OPENAI_API_KEY to https://api.openai.com/v1, and where api_base is None.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
        LLMError: when it is used, the server gives no vectors, or others than it should.
    """

    env_vars = ("OPENAI_API_KEY",)
    prefix = PREFIX
    own_parameters: ClassVar[Mapping[str, Any]] = {"encoding_format": "base64"}  # a quarter as long

    def check(self) -> Iterator[str]:
        """Yield what is missing: the address, or what any server needs."""
        missing = list_missing_address(self.endpoint)
        yield from missing or super().check()

    def find_provider(self) -> str:
        """Return the provider that has the address; empty for others."""
        address = find_given_address(self.endpoint) or ""
        return _PROVIDERS.get(urlsplit(address).hostname or "", "")

    def find_prices(self) -> TokenPrices | None:
        """Return the user's prices, else those of the server; None where they are not listed."""
        address = find_address(self.endpoint)
        return find_server_prices(self.given_prices, find_model_name(self.endpoint), address)

    def ask(self, body: Mapping[str, Any], timeout: float) -> Vectors:
        """Send one request. Raises HttpError and ConnectionFailed, too."""
        data = post_json(self.endpoint, "/embeddings", body)
        texts = body["input"]
        rows = read_vectors(data, len(texts))
        tokens = read_tokens(data) or sum(map(estimate_tokens, texts))
        cost = compute_server_cost(
            self.given_prices, find_model_name(self.endpoint), find_address(self.endpoint), tokens
        )
        return Vectors(rows, tokens, cost)
