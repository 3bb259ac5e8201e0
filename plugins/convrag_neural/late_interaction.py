"""The base of late interaction: a vector for each token, from models of ColBERT's family."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from annotated_types import Ge

from convrag import ConvragError, operational
from convrag.sdk.output.library_logs import limit_logs
from convrag_neural.batches import CPU_TOKENS, count_tokens, make_batches
from convrag_neural.local_model import SentenceTransformersStage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import MultiVectorEncoder

_PYLATE_KEYS = {"query_prefix", "document_prefix", "query_length", "document_length"}
"""Keys that PyLate writes into config_sentence_transformers.json, of which any names its model."""

_MODEL_TYPES = ("ColBERT", "MultiVectorEncoder")
"""The values of `model_type` there: PyLate's, and that of sentence-transformers."""


class QueryTokens(NamedTuple):
    """The vectors of the tokens of one or several queries.

    Args:
        vectors: (q, d) float32, unit rows.
        weights: (q,) the weight of the query that each token is from.
    """

    vectors: NDArray[np.float32]
    weights: NDArray[np.float64]

    def score(self, tokens: NDArray[np.floating]) -> float:
        """Compute the MaxSim of a text: for each token of the query, its best product; their sum.

        Args:
            tokens: (t, d) the vectors of the text's tokens; a text without any scores 0.
        """
        import numpy as np

        if not len(tokens):
            return 0.0
        products = self.vectors.astype(np.float64) @ tokens.astype(np.float64).T
        return float(products.max(axis=1) @ self.weights)


@dataclass(kw_only=True, eq=False)
class LateInteractionStage(SentenceTransformersStage["MultiVectorEncoder"]):
    """A stage with a model of late interaction.

    sentence-transformers reads the folders of PyLate and of Stanford's ColBERT, and takes the
    prefixes, lengths, query expansion and skipped punctuation from them.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        query_length: tokens of a query that are read; None takes the model's own number.
        document_length: tokens of a text that are read; None takes the model's own number.
        batch_size: the most texts that are encoded at once.
        device: where the model runs.
        dtype: the numbers that it computes with.
    """

    requires: ClassVar = {"sentence_transformers": "convrag[colbert]"}

    model: str = "answerdotai/answerai-colbert-small-v1"
    query_length: Annotated[int | None, Ge(4)] = None
    document_length: Annotated[int | None, Ge(4)] = None
    batch_size: Annotated[int, operational, Ge(1)] = 32

    def encode_queries(self, texts: Sequence[str], weights: Sequence[float]) -> QueryTokens:
        """Encode weighted queries; their scores add up."""
        import numpy as np

        with self._locked_model() as model:
            encoded = model.encode_query(
                list(texts),
                batch_size=self.batch_size,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        counts = [len(rows) for rows in encoded]
        vectors = np.concatenate(encoded).astype(np.float32)
        return QueryTokens(vectors, np.repeat(np.array(weights, dtype=np.float64), counts))

    def encode_texts(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Encode texts: the vectors of each one's tokens, (t, d)."""
        if not texts:
            return []
        encoded: dict[int, NDArray[np.float32]] = {}
        with self._locked_model() as model:
            most = CPU_TOKENS if model.device.type == "cpu" else None
            lengths = count_tokens(texts, model)
            for places in make_batches(lengths, self.batch_size, most):
                batch = [texts[place] for place in places]
                encoded.update(zip(places, _encode_batch(model, batch), strict=True))
        return [encoded[place] for place in range(len(texts))]

    def _load_model(self, source: str) -> MultiVectorEncoder:
        try:
            from sentence_transformers import MultiVectorEncoder
        except ImportError as error:
            raise ConvragError(
                "models of late interaction need sentence-transformers 6.0 or newer: "
                "pip install -c constraints.txt 'convrag[colbert]'"
            ) from error
        # Without this check the library would add a projection of random weights.
        if not is_late_interaction(source, self.revision):
            raise ConvragError(
                f"the model {self.model!r} was not trained for late interaction: choose one of "
                "PyLate or ColBERT (answerdotai/answerai-colbert-small-v1, "
                "lightonai/GTE-ModernColBERT-v1)"
            )
        # It warns that it reads PyLate's format, which is what is wanted.
        limit_logs(logging.ERROR, "sentence_transformers.base.model")
        loaded = self._load(MultiVectorEncoder, source)
        self._set_lengths(loaded[0])
        return loaded

    def _set_lengths(self, transformer: Any) -> None:
        """Set the lengths that were chosen. Raises ConvragError for more than the model reads."""
        most = getattr(transformer.model.config, "max_position_embeddings", None)
        for name in ("query_length", "document_length"):
            length = getattr(self, name)
            if length is not None and most is not None and length > most:
                raise ConvragError(
                    f"{name}={length}: the model {self.model!r} reads at most {most} tokens"
                )
        if self.document_length is not None:
            transformer.document_length = self.document_length
        expansion = transformer.query_expansion
        if self.query_length is None:
            return
        if expansion is None:
            transformer.query_length = self.query_length
        else:  # queries are filled up to this length with mask tokens, which count
            transformer.query_length = None
            transformer.query_expansion = {**expansion, "length": self.query_length}


def is_late_interaction(source: str, revision: str | None) -> bool:
    """Whether a model's files say that it gives a vector for each token.

    Args:
        source: a folder, or a name on the Hugging Face hub.
        revision: the commit on the hub.
    """
    settings = _read_json(source, "config_sentence_transformers.json", revision)
    if settings.get("model_type") in _MODEL_TYPES or _PYLATE_KEYS & settings.keys():
        return True
    architectures = _read_json(source, "config.json", revision).get("architectures") or []
    return any(name == "HF_ColBERT" or name.endswith("ForRetrieval") for name in architectures)


def _read_json(source: str, name: str, revision: str | None) -> dict[str, Any]:
    """Read a JSON file of a model; empty where the model has none."""
    from sentence_transformers.util import load_file_path

    path = load_file_path(source, name, revision=revision)
    if path is None:
        return {}
    settings: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return settings


def _encode_batch(model: MultiVectorEncoder, texts: list[str]) -> list[NDArray[np.float32]]:
    import numpy as np

    encoded = model.encode_document(
        texts, batch_size=len(texts), convert_to_numpy=True, show_progress_bar=False
    )
    return [rows.astype(np.float32) for rows in encoded]
