"""BERTScore: tokens of two texts matched greedily by the cosine of their contextual vectors (Zhang et al. 2020)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from convrag_metrics.overlap import Overlap

if TYPE_CHECKING:
    from torch import Tensor

_PREFIXED = ("RobertaTokenizer", "GPT2Tokenizer")  # their first word is read as if a space stood before it
_DIGITS = 6  # more would tell with which others a text was computed


class Embedded(NamedTuple):
    """A text as unit vectors, one a token; `own` are those of the text itself, without the model's marks."""

    vectors: Tensor
    own: Tensor
    cut: bool


class Bert:
    """An encoder, up to one of its layers.

    Args:
        folder: the model's files.
        layer: whose output is used, counted from 1; None takes the last.
        max_length: tokens of a text that are read, the model's marks included; None takes the model's own limit.
        device: where it runs.
        batch_size: texts at once.
    """

    def __init__(self, folder: str, layer: int | None, max_length: int | None, device: str, batch_size: int) -> None:
        from transformers import AutoModel, AutoTokenizer

        with quietly():
            self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self.model = AutoModel.from_pretrained(folder, local_files_only=True).to(device).float().eval()
        self.layer = self.model.config.num_hidden_layers if layer is None else layer
        self.max_length = max_length or limit(self.tokenizer, self.model.config)
        self.device = device
        self.batch_size = batch_size
        name = type(self.tokenizer).__name__.removesuffix("Fast")
        self._prefix = " " if name in _PREFIXED else ""
        self._lock = threading.Lock()  # tokenizers must not be used by two threads at once

    def embed(self, texts: Sequence[str]) -> dict[str, Embedded]:
        """Each different text with its vectors. Texts of like length are computed together."""
        with self._lock:
            return self._embed(list(dict.fromkeys(texts)))

    def _embed(self, distinct: Sequence[str]) -> dict[str, Embedded]:
        ids = {text: self.tokenizer(self._read(text), verbose=False)["input_ids"] for text in distinct}
        order = sorted(distinct, key=lambda text: (len(ids[text]), text))
        found: dict[str, Embedded] = {}
        for start in range(0, len(order), self.batch_size):
            found |= self._batch(order[start : start + self.batch_size], ids)
        return found

    def _read(self, text: str) -> str:
        return f"{self._prefix}{text.strip()}" if text.strip() else ""

    def _batch(self, texts: Sequence[str], ids: dict[str, list[int]]) -> dict[str, Embedded]:
        encoded = self.tokenizer(
            [self._read(text) for text in texts],
            truncation=True,
            max_length=self.max_length,
            padding=True,
            return_tensors="pt",
            return_special_tokens_mask=True,
        )
        marks = encoded.pop("special_tokens_mask").bool()
        with torch.inference_mode():
            output = self.model(**encoded.to(self.device), output_hidden_states=True)
        vectors = torch.nn.functional.normalize(output.hidden_states[self.layer], dim=-1).cpu()
        there = encoded["attention_mask"].bool().cpu()
        return {
            text: Embedded(vectors[row][there[row]], ~marks[row][there[row]], len(ids[text]) > self.max_length)
            for row, text in enumerate(texts)
        }


def match(candidate: Embedded, reference: Embedded) -> Overlap:
    """Precision: how near each token of the candidate comes to one of the reference; recall: the other way round.

    The model's marks are there to be matched, but are not asked for, as in bert-score without idf weights. A text
    without a token scores 0.
    """
    if not candidate.own.any() or not reference.own.any():
        return Overlap(0.0, 0.0, 0.0)
    similarity = candidate.vectors @ reference.vectors.T
    precision = float(similarity.max(dim=1).values[candidate.own].double().mean())
    recall = float(similarity.max(dim=0).values[reference.own].double().mean())
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return Overlap(*(round(value, _DIGITS) for value in (precision, recall, f1)))


@contextmanager
def quietly() -> Iterator[None]:
    """Without the library's own progress bars, which it draws also where nobody looks."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def limit(tokenizer: Any, config: Any) -> int:
    """The tokens that a model reads; positions before the first are some models' own."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    offset = config.pad_token_id + 1 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
    return int(min(tokenizer.model_max_length, positions - offset))


def read_baseline(path: Path, layer: int) -> Overlap:
    """A layer's row of a baseline file of bert-score (LAYER,P,R,F): what random pairs of sentences score.

    Raises ValueError where the file has no such row.
    """
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        number, *values = line.split(",")
        if number.strip() == str(layer):
            precision, recall, f1 = map(float, values)
            return Overlap(precision, recall, f1)
    raise ValueError(f"it has no row for layer {layer}")
