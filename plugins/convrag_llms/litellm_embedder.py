"""`embedder=litellm`: an embedding model of any provider that litellm knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from convrag_llms.embedder import ServerEmbedder
from convrag_llms.embedding_reply import Vectors, read_vectors
from convrag_llms.endpoint import KEY_VARIABLES
from convrag_llms.json_requests import read_tokens
from convrag_llms.litellm_models import LitellmStage
from convrag_llms.tokens import estimate_tokens


@dataclass(kw_only=True, eq=False)
class LitellmEmbedder(LitellmStage, ServerEmbedder):
    """Embed texts through litellm: Cohere, Voyage, Gemini, Bedrock, Jina and other providers.

    Vectors of passages are stored as they come, so that an index build that is killed pays for
    nothing twice. Requests that may succeed later are repeated; a batch that is refused as too
    large is split; a text that is too long for the model is cut, with a note in the summary.

    Args:
        model: as litellm names it: provider/model, such as voyage/voyage-3.5; openai/<name> for a
            server of your own.
        api_base: the server's address; None is the provider's own. It is written into the run's
            files: one with a password goes into a variable that api_base_env names.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
        LLMError: when it is used, the provider gives no vectors, or others than it should.
    """

    requires: ClassVar[Mapping[str, str]] = {"litellm": "convrag[litellm]"}
    env_vars = tuple(name for names in KEY_VARIABLES.values() for name in names)

    def find_provider(self) -> str:
        """Return the provider before the model's name."""
        return self.endpoint.provider

    def ask(self, body: Mapping[str, Any], timeout: float) -> Vectors:
        """Send one request. Raises what litellm raises, too."""
        response = self.call_library("embedding", body, timeout)
        data = response.model_dump(warnings=False)
        texts = body["input"]
        rows = read_vectors(data, len(texts))
        tokens = read_tokens(data) or sum(map(estimate_tokens, texts))
        return Vectors(rows, tokens, self.compute_cost(response, tokens))
