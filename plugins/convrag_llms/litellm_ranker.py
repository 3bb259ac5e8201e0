"""`ranker=litellm`: a reranker of any provider that litellm knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from convrag_llms.endpoint import KEY_VARIABLES
from convrag_llms.json_requests import read_tokens
from convrag_llms.litellm_models import LitellmStage
from convrag_llms.ranker import ServerRanker
from convrag_llms.rerank_reply import Scores, read_scores
from convrag_llms.tokens import estimate_tokens


@dataclass(kw_only=True, eq=False)
class LitellmRanker(LitellmStage, ServerRanker):
    """Score each text by a reranker through litellm: Cohere, Voyage, Jina, Bedrock and others.

    Requests that may succeed later are repeated; a batch that is refused as too large is split; a
    text that is too long for the model is cut, with a note in the summary. The scores are the
    model's own: they order the texts of a query, and mean nothing else.

    Args:
        model: as litellm names it: provider/model, such as cohere/rerank-v3.5.
        api_base: the server's address; None is the provider's own. It is written into the run's
            files: one with a password goes into a variable that api_base_env names.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
        LLMError: when it is used, the provider gives no scores, or not one for each text.
    """

    requires: ClassVar[Mapping[str, str]] = {"litellm": "convrag[litellm]"}
    env_vars = tuple(name for names in KEY_VARIABLES.values() for name in names)

    def ask(self, body: Mapping[str, Any], timeout: float) -> Scores:
        """Send one request. Raises what litellm raises, too."""
        response = self.call_library("rerank", {**body, "return_documents": False}, timeout)
        data = response.model_dump(warnings=False)
        documents = body["documents"]
        values = read_scores(data, len(documents))
        estimate = sum(map(estimate_tokens, documents)) + estimate_tokens(body["query"])
        tokens = read_tokens(data) or estimate
        return Scores(values, tokens, self.compute_cost(response, tokens))
