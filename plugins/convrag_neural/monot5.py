"""`ranker=monot5`: relevance as the probability that T5 says "true"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from convrag.registry.parameters import operational

from convrag import ConfigError, Ranker
from convrag_neural.loading import LocalModel
from convrag_neural.models import files_hash, local_folder, missing_tokenizer
from convrag_neural.once import scored_once
from convrag_neural.t5_libraries import T5_LIBRARIES, missing_converter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convrag_neural.t5 import TrueFalseT5

_SHORTEST = 32


class MonoT5Ranker(Ranker):
    """Score each text with monoT5, a T5 that says whether it is relevant: strong on new subjects, slow on a CPU.

    The model reads "Query: ... Document: ... Relevant:", and a text's score is the probability of "true" against
    "false" as its first word (Nogueira et al. 2020). A text that is too long is cut, never the rest of the prompt.

    Args:
        model: a folder, which needs no network, or a name on the Hugging Face hub, which is downloaded once.
        tokenizer: likewise, where the model comes without one ("t5-base"); None takes the model's own.
        batch_size: texts that are scored at once: more is faster, and needs more memory.
        device: where the model runs: cpu, cuda, cuda:1, mps.
        max_length: tokens that are read of query and text together, 32 at least; a query may take half of them.
            Default: that of the model's training.

    Raises:
        ConfigError: batch_size is below 1, or max_length below 32.
        ConvragError: when it is used, the model cannot be loaded.
    """

    requires: ClassVar[Mapping[str, str]] = T5_LIBRARIES

    def __init__(
        self,
        *,
        model: str = "castorini/monot5-base-msmarco",
        tokenizer: str | None = None,
        batch_size: Annotated[int, operational] = 16,
        device: str = "cpu",
        max_length: int = 512,
    ) -> None:
        if batch_size < 1 or max_length < _SHORTEST:
            raise ConfigError(
                f"ranker.batch_size={batch_size} must be at least 1, ranker.max_length={max_length} {_SHORTEST} or more"
            )
        self.model = model
        self.tokenizer = tokenizer or model
        self.batch_size = batch_size
        self.device = device
        self.max_length = max_length
        self._local = LocalModel(model, self._load)

    def check(self) -> Iterator[str]:
        """Whether the model and its tokenizer are there, and can be read."""
        if converter := missing_converter(self.tokenizer, "ranker=monot5"):
            yield str(converter)
        yield from self._local.problems()
        if problem := missing_tokenizer(self.tokenizer, self.model):
            yield problem

    def content_hash(self) -> str:
        """The files of a model in a folder: another model in its place is another ranker."""
        return files_hash(self.model) + (files_hash(self.tokenizer) if self.tokenizer != self.model else "")

    def prepare(self) -> None:
        """Load the model."""
        with self._local.held():
            pass

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """A probability for each text."""
        return scored_once(texts, lambda distinct: self._probabilities(query, distinct))

    def _probabilities(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        with self._local.held() as model:
            return model.probabilities(self._prompts(model, query, texts))

    def _prompts(self, model: TrueFalseT5, query: str, texts: Sequence[str]) -> list[str]:
        query = model.fit(query, self.max_length // 2)
        room = self.max_length - model.length(_prompt(query, ""))
        return [_prompt(query, model.fit(text, room)) for text in texts]

    def _load(self, model: str) -> TrueFalseT5:
        from convrag_neural.t5 import TrueFalseT5

        return TrueFalseT5(
            model,
            str(local_folder(self.tokenizer) or self.tokenizer),
            device=self.device,
            max_length=self.max_length,
            batch_size=self.batch_size,
        )


def _prompt(query: str, text: str) -> str:
    return f"Query: {query} Document: {text} Relevant:"
