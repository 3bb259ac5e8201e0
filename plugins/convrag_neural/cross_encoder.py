"""`ranker=cross_encoder`: an encoder reads query and text together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from convrag import ConfigError, ConvragError, Ranker, operational
from convrag_neural.batches import compute_in_batches
from convrag_neural.local_model import SentenceTransformersStage, score_distinct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import CrossEncoder


@dataclass(kw_only=True, eq=False)
class CrossEncoderRanker(SentenceTransformersStage["CrossEncoder"], Ranker):
    """Score each text with a cross-encoder, which reads it together with the query: precise, fast.

    The scores are the model's raw outputs (logits): a sigmoid would change no order, and round the
    best texts to 1.

    Args:
        model: a folder, which needs no network, or a name on the Hugging Face hub, which is
            downloaded once. Default:
            the seed's, for English.
        batch_size: the most texts that are scored at once: on a GPU more is faster, and needs more
            memory; on a CPU batches of long texts have fewer, some 1,000 tokens.
        device: where the model runs: cpu, cuda, cuda:1, mps, xpu; "auto" takes a GPU where there is
            one. Results are the same to some six digits on all of them, and one's are used on the
            others.
        dtype: the numbers that it computes with; "auto" is what the weights are kept in. "bfloat16"
            changes the third digit, and is faster on a GPU and on a CPU that computes in it (AMX,
            AVX512-BF16), slower on others.
        query_template: what the model reads for a query, for models that were trained so; {query}
            stands for the query.
        text_template: what it reads for a text; {text} stands for the text.
        max_length: tokens of query and text together that are read; the rest of the longer one is
            cut off. None takes the model's own limit.

    Raises:
        ConvragError: when it is used, the model cannot be loaded.
    """

    model: str = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    query_template: str = "{query}"
    text_template: str = "{text}"
    batch_size: Annotated[int, operational, Ge(1)] = 32
    max_length: Annotated[int | None, Ge(1)] = None

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score each text: (n,) logits."""

        def score_texts(distinct: list[str]) -> NDArray[np.float32]:
            whole_query = self.query_template.replace("{query}", query)
            pairs = [(whole_query, self.text_template.replace("{text}", text)) for text in distinct]
            return self._predict_logits(pairs)

        return score_distinct(texts, score_texts)

    def _predict_logits(self, pairs: list[tuple[str, str]]) -> NDArray[np.float32]:
        """Score each pair: (n,) logits."""
        with self._locked_model() as model:
            compute = partial(_predict_batch, model)
            return compute_in_batches(pairs, compute, model, self.batch_size)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, place in (("query_template", "{query}"), ("text_template", "{text}")):
            if place not in getattr(self, name):
                raise ConfigError(f"{name} has no {place}")

    def _load_model(self, source: str) -> CrossEncoder:
        from sentence_transformers import CrossEncoder
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(source, revision=self.revision)
        architecture = config.architectures[0] if config.architectures else ""
        # To these, the library would add a head of random weights.
        if architecture.endswith(("Model", "ForMaskedLM")):
            raise ConvragError(
                f"the model {self.model!r} ({architecture}) was not trained to score pairs: choose "
                "a cross-encoder"
            )
        loaded = self._load(CrossEncoder, source, max_length=self.max_length)
        if loaded.num_labels != 1:
            raise ConvragError(
                f"the model {self.model!r} gives {loaded.num_labels} scores for a pair: choose one "
                "that gives one score"
            )
        return loaded


def _predict_batch(model: CrossEncoder, pairs: list[tuple[str, str]]) -> NDArray[np.float32]:
    from torch.nn import Identity

    scores: NDArray[np.float32] = model.predict(
        pairs,
        batch_size=len(pairs),
        activation_fn=Identity(),
        convert_to_numpy=True,
        show_progress_bar=False,
    )
    return scores
