"""`embedder=sentence_transformers`: sentence embeddings from a neural model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from convrag import Embedder, operational
from convrag_neural.batches import compute_in_batches
from convrag_neural.local_model import SentenceTransformersStage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer


@dataclass(kw_only=True, eq=False)
class SentenceTransformersEmbedder(SentenceTransformersStage["SentenceTransformer"], Embedder):
    """Embed texts with a sentence-transformers model, from a folder or from the Hugging Face hub.

    Args:
        model: a folder, which needs no network, or a name on the hub, which is downloaded once.
        query_prefix: put before queries, for models that were trained so (the model's card tells).
        passage_prefix: put before other texts, likewise.
        batch_size: the most texts that are embedded at once: on a GPU more is faster, and needs
            more memory; on a CPU batches of long texts have fewer, some 1,000 tokens.
        device: where the model runs: cpu, cuda, cuda:1, mps, xpu; "auto" takes a GPU where there is
            one. Results are the same to some six digits on all of them, and one's are used on the
            others.
        dtype: the numbers that it computes with; "auto" is what the weights are kept in. "bfloat16"
            changes the third digit, and is faster on a GPU and on a CPU that computes in it (AMX,
            AVX512-BF16), slower on others.
        max_length: tokens of a text that are read; the rest is cut off. None takes the model's own
            limit.

    Raises:
        ConvragError: when it is used, the model cannot be loaded.
    """

    query_prefix: str = ""
    passage_prefix: str = ""
    batch_size: Annotated[int, operational, Ge(1)] = 32
    max_length: Annotated[int | None, Ge(1)] = None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Embed texts as unit rows, (n, d) float32; blank texts are zero rows."""
        import numpy as np

        prefix = self.query_prefix if query else self.passage_prefix
        filled = [index for index, text in enumerate(texts) if text.strip()]
        with self._locked_model() as model:
            # At least one text: the width of the rows is the model's.
            vectors = self._encode(model, [prefix + texts[index] for index in filled] or [""])
        rows = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
        rows[filled] = vectors[: len(filled)]
        return rows

    def _encode(self, model: SentenceTransformer, texts: list[str]) -> NDArray[np.float32]:
        return compute_in_batches(texts, partial(_encode_batch, model), model, self.batch_size)

    def _load_model(self, source: str) -> SentenceTransformer:
        from sentence_transformers import SentenceTransformer

        loaded = self._load(SentenceTransformer, source)
        if self.max_length is not None:
            loaded.max_seq_length = self.max_length
        return loaded


def _encode_batch(model: SentenceTransformer, texts: list[str]) -> NDArray[np.float32]:
    from torch.nn.functional import normalize

    vectors = model.encode(
        texts, batch_size=len(texts), convert_to_tensor=True, show_progress_bar=False
    )
    # In float32, whatever the model computes with.
    rows: NDArray[np.float32] = normalize(vectors.float()).cpu().numpy()
    return rows
