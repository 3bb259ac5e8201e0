"""Sentence embeddings from a neural model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from convrag.registry.parameters import operational

from convrag import ConfigError, Embedder
from convrag_neural.loading import LocalModel
from convrag_neural.models import files_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer


class SentenceTransformersEmbedder(Embedder):
    """Embed texts with a sentence-transformers model, from a folder or from the Hugging Face hub.

    Args:
        model: a folder, which needs no network, or a name on the hub, which is downloaded once.
        query_prefix: put before queries, for models that were trained so (the model's card tells).
        batch_size: texts that are embedded at once: more is faster, and needs more memory.
        device: where the model runs: cpu, cuda, cuda:1, mps.
        max_length: tokens of a text that are read; the rest is cut off. None takes the model's own limit.

    Raises:
        ConfigError: batch_size or max_length is below 1.
        ConvragError: when it is used, the model cannot be loaded.
    """

    requires: ClassVar[Mapping[str, str]] = {"sentence_transformers": "convrag[neural]"}

    def __init__(
        self,
        *,
        model: str,
        query_prefix: str = "",
        batch_size: Annotated[int, operational] = 32,
        device: str = "cpu",
        max_length: int | None = None,
    ) -> None:
        if batch_size < 1 or (max_length is not None and max_length < 1):
            raise ConfigError(
                f"embedder.batch_size={batch_size} and embedder.max_length={max_length} must be at least 1"
            )
        self.model = model
        self.query_prefix = query_prefix
        self.batch_size = batch_size
        self.device = device
        self.max_length = max_length
        self._local = LocalModel(model, self._load)

    def check(self) -> Iterable[str]:
        """Whether the model is there."""
        return self._local.problems()

    def content_hash(self) -> str:
        """The files of a model in a folder: another model in its place is another embedder."""
        return files_hash(self.model)

    def prepare(self) -> None:
        """Load the model."""
        with self._local.held():
            pass

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Unit rows, (n, d) float32; blank texts are zero rows."""
        import numpy as np

        prefix = self.query_prefix if query else ""
        spoken = [index for index, text in enumerate(texts) if text.strip()]
        with self._local.held() as model:
            vectors = self._encode(model, [prefix + texts[index] for index in spoken] or [""])
        rows = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
        rows[spoken] = vectors[: len(spoken)]
        return rows

    def _encode(self, model: SentenceTransformer, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        vectors = model.encode(
            texts, batch_size=self.batch_size, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    def _load(self, model: str) -> SentenceTransformer:
        from sentence_transformers import SentenceTransformer

        loaded = SentenceTransformer(model, device=self.device)
        if self.max_length is not None:
            loaded.max_seq_length = self.max_length
        return loaded
