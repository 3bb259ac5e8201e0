"""`embedder=fastembed`: sentence embeddings from an ONNX model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from convrag import Embedder
from convrag_fastembed.onnx_stage import OnnxStage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(kw_only=True, eq=False)
class FastembedEmbedder(OnnxStage, Embedder):
    """Embed texts with an ONNX model, without torch: one of fastembed's, or a folder.

    A folder has model.onnx (or onnx/model.onnx), config.json, tokenizer.json and
    tokenizer_config.json. Where it comes from sentence-transformers, it also says how the vectors
    of tokens are pooled, and how many tokens are read.

    Args:
        model: the name of one of fastembed's models, which is downloaded once, or a folder, which
            needs no network.
        query_prefix: put before queries, for models that were trained so (the model's card tells).
        passage_prefix: put before other texts, likewise.
        pooling: how the vectors of tokens become one, for a folder; "auto" reads it from
            1_Pooling/config.json. fastembed knows it of its own models.
        batch_size: the most texts that are embedded at once.
        threads: threads that compute; None lets onnxruntime choose.
        max_length: tokens of a text that are read; the rest is cut off. None takes the model's own
            limit.

    Raises:
        ConvragError: when it is used, the model cannot be loaded.
    """

    model: str = "BAAI/bge-small-en-v1.5"
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: Literal["auto", "mean", "cls", "last_token"] = "auto"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Embed texts as unit rows, (n, d) float32; blank texts are zero rows."""
        import numpy as np

        prefix = self.query_prefix if query else self.passage_prefix
        filled = [index for index, text in enumerate(texts) if text.strip()]
        # Texts of similar length share a batch, so that little is computed for padding.
        order = sorted(filled, key=lambda index: (-len(texts[index]), index))
        with self.locked_model() as model:
            embed = model.query_embed if query else model.passage_embed
            # At least one text: the width of the rows is the model's.
            given = [prefix + texts[index] for index in order] or [""]
            vectors = np.array(list(embed(given, batch_size=self.batch_size)), dtype=np.float32)
        rows = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
        if order:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            rows[order] = vectors / np.maximum(lengths, 1e-12)
        return rows

    def list_models(self) -> Sequence[Mapping[str, Any]]:
        """List fastembed's models of embeddings."""
        from fastembed import TextEmbedding

        models: Sequence[Mapping[str, Any]] = TextEmbedding.list_supported_models()
        return models

    def load(self, options: Mapping[str, Any]) -> Any:
        """Load the model."""
        from fastembed import TextEmbedding

        name = self._register_folder() if self.folder else self.model
        return TextEmbedding(name, **options)

    def _register_folder(self) -> str:
        """Tell fastembed of the model in the folder, and return the name that it has there."""
        from fastembed import TextEmbedding
        from fastembed.common.model_description import ModelSource, PoolingType

        assert self.folder is not None
        pooling = self.folder.read_pooling() if self.pooling == "auto" else self.pooling.upper()
        name = f"{self.folder.path.resolve()} ({pooling})"
        known = {str(each["model"]).lower() for each in self.list_models()}
        if name.lower() not in known:
            TextEmbedding.add_custom_model(
                model=name,
                pooling=PoolingType[pooling],
                normalization=True,
                sources=ModelSource(hf=name),  # is not asked: the folder has the files
                dim=self.folder.read_width(),
                model_file=self.folder.model_file,
            )
        return name
