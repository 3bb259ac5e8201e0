"""`ranker=cross_encoder`: query and text read together by an encoder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from convrag.registry.parameters import operational

from convrag import ConfigError, ConvragError, Ranker
from convrag_neural.loading import LocalModel
from convrag_neural.models import files_hash
from convrag_neural.once import scored_once

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import CrossEncoder


class CrossEncoderRanker(Ranker):
    """Score each text with a cross-encoder, which reads it together with the query: precise, small models, fast.

    The scores are the model's raw outputs (logits): a sigmoid would change no order, and round the best texts to 1.

    Args:
        model: a folder, which needs no network, or a name on the Hugging Face hub, which is downloaded once. Default:
            the seed's, for English.
        batch_size: texts that are scored at once: more is faster, and needs more memory.
        device: where the model runs: cpu, cuda, cuda:1, mps.
        max_length: tokens of query and text together that are read; the rest of the longer one is cut off. None takes
            the model's own limit.

    Raises:
        ConfigError: batch_size or max_length is below 1.
        ConvragError: when it is used, the model cannot be loaded.
    """

    requires: ClassVar[Mapping[str, str]] = {"sentence_transformers": "convrag[neural]"}

    def __init__(
        self,
        *,
        model: str = "cross-encoder/ms-marco-MiniLM-L-6-v2",
        batch_size: Annotated[int, operational] = 32,
        device: str = "cpu",
        max_length: int | None = None,
    ) -> None:
        if batch_size < 1 or (max_length is not None and max_length < 1):
            raise ConfigError(f"ranker.batch_size={batch_size} and ranker.max_length={max_length} must be at least 1")
        self.model = model
        self.batch_size = batch_size
        self.device = device
        self.max_length = max_length
        self._local = LocalModel(model, self._load)

    def check(self) -> Iterable[str]:
        """Whether the model is there."""
        return self._local.problems()

    def content_hash(self) -> str:
        """The files of a model in a folder: another model in its place is another ranker."""
        return files_hash(self.model)

    def prepare(self) -> None:
        """Load the model."""
        with self._local.held():
            pass

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """A logit for each text."""
        return scored_once(texts, lambda distinct: self._logits([(query, text) for text in distinct]))

    def _logits(self, pairs: list[tuple[str, str]]) -> NDArray[np.float32]:
        """One score for each pair; the library sorts them by length, computes no gradients, and sorts them back."""
        from torch.nn import Identity

        with self._local.held() as model:
            scores: NDArray[np.float32] = model.predict(
                pairs,
                batch_size=self.batch_size,
                activation_fn=Identity(),
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        return scores

    def _load(self, model: str) -> CrossEncoder:
        from sentence_transformers import CrossEncoder
        from transformers import AutoConfig

        architectures = AutoConfig.from_pretrained(model).architectures or [""]
        if architectures[0].endswith(("Model", "ForMaskedLM")):  # it would be given a head of random weights
            raise ConvragError(
                f"the model {self.model!r} ({architectures[0]}) was not trained to score pairs: choose a cross-encoder"
            )
        loaded = CrossEncoder(model, device=self.device, max_length=self.max_length)
        if loaded.num_labels != 1:
            raise ConvragError(
                f"the model {self.model!r} tells {loaded.num_labels} classes apart: choose one that gives one score"
            )
        return loaded
