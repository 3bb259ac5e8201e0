"""`ranker=fastembed`: a cross-encoder in ONNX's format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convrag import Ranker
from convrag_fastembed.onnx_stage import OnnxStage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(kw_only=True, eq=False)
class FastembedRanker(OnnxStage, Ranker):
    """Score each text with an ONNX cross-encoder, without torch: one of fastembed's, or a folder.

    The scores are the model's raw outputs (logits). A folder has model.onnx (or onnx/model.onnx),
    config.json, tokenizer.json and tokenizer_config.json.

    Args:
        model: the name of one of fastembed's models, which is downloaded once, or a folder, which
            needs no network.
        batch_size: the most texts that are scored at once.
        threads: threads that compute; None lets onnxruntime choose.
        max_length: tokens of query and text together that are read; the rest of the longer one is
            cut off. None takes the model's own limit.

    Raises:
        ConvragError: when it is used, the model cannot be loaded.
    """

    model: str = "Xenova/ms-marco-MiniLM-L-6-v2"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score each text: (n,) logits. Equal texts have equal scores."""
        import numpy as np

        distinct = sorted(dict.fromkeys(texts), key=lambda text: (-len(text), text))
        if not distinct:
            return np.zeros(0)
        with self.locked_model() as model:
            found = list(model.rerank(query, distinct, batch_size=self.batch_size))
        scores = dict(zip(distinct, found, strict=True))
        return np.array([scores[text] for text in texts], dtype=np.float64)

    def list_models(self) -> Sequence[Mapping[str, Any]]:
        """List fastembed's cross-encoders."""
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        models: Sequence[Mapping[str, Any]] = TextCrossEncoder.list_supported_models()
        return models

    def load(self, options: Mapping[str, Any]) -> Any:
        """Load the model."""
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        name = self._register_folder() if self.folder else self.model
        return TextCrossEncoder(name, **options)

    def _register_folder(self) -> str:
        """Tell fastembed of the model in the folder, and return the name that it has there."""
        from fastembed.common.model_description import ModelSource
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        assert self.folder is not None
        name = str(self.folder.path.resolve())
        known = {str(each["model"]).lower() for each in self.list_models()}
        if name.lower() not in known:
            TextCrossEncoder.add_custom_model(
                model=name,
                sources=ModelSource(hf=name),  # is not asked: the folder has the files
                model_file=self.folder.model_file,
            )
        return name
