"""`ranker=monot5`: a text's score is the probability that T5 calls it relevant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from convrag import operational
from convrag_neural.local_model import score_distinct
from convrag_neural.t5_ranker import T5Ranker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convrag_neural.t5_ranker import TrueFalseT5


class MonoT5Ranker(T5Ranker):
    """Score each text with monoT5, a T5 that says whether it is relevant: strong, slow on a CPU.

    The model reads "Query: ... Document: ... Relevant:", and a text's score is the probability of
    "true" against "false" as its first word (Nogueira et al. 2020). A text that is too long is cut,
    never the rest of the prompt.

    Args:
        model: a folder, which needs no network, or a name on the Hugging Face hub, which is
            downloaded once.
        tokenizer: likewise, where the model comes without one ("t5-base"); None takes the model's
            own.
        batch_size: texts that are scored at once: more is faster, and needs more memory.
        device: where the model runs: cpu, cuda, cuda:1, mps, xpu; "auto" takes a GPU where there is
            one. Results are the same to some six digits on all of them, and one's are used on the
            others.
        max_length: tokens that are read of query and text together, 32 at least; a query may take
            half of them. Default: the one of the model's training.

    Raises:
        ConvragError: when it is used, the model cannot be loaded.
    """

    def __init__(
        self,
        *,
        model: str = "castorini/monot5-base-msmarco",
        tokenizer: str | None = None,
        batch_size: Annotated[int, operational, Ge(1)] = 16,
        device: Annotated[str, operational] = "auto",
        max_length: Annotated[int, Ge(32)] = 512,
    ) -> None:
        super().__init__(
            model=model,
            tokenizer=tokenizer,
            device=device,
            max_length=max_length,
            batch_size=batch_size,
        )

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score each text: (n,) probabilities of being relevant."""
        return score_distinct(texts, lambda distinct: self._score_prompts(query, distinct))

    def _score_prompts(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        with self._locked_model() as model:
            return model.predict_probabilities(self._build_prompts(model, query, texts))

    def _build_prompts(self, model: TrueFalseT5, query: str, texts: Sequence[str]) -> list[str]:
        query = model.truncate(query, self.max_length // 2)
        room = self.max_length - model.count_tokens(_build_prompt(query, ""))
        return [_build_prompt(query, model.truncate(text, room)) for text in texts]


def _build_prompt(query: str, text: str) -> str:
    return f"Query: {query} Document: {text} Relevant:"
