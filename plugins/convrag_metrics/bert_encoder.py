"""BERTScore: tokens of two texts are matched by the cosine of their vectors (Zhang et al. 2020)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch

from convrag_metrics.pretrained import find_max_length, load_pretrained
from convrag_metrics.token_overlap import Overlap

if TYPE_CHECKING:
    from torch import Tensor

# bert-score puts a space before the first word for these
_SPACE_PREFIXED = ("RobertaTokenizer", "GPT2Tokenizer")
_DIGITS = 6  # further digits depend on the other texts of the batch


class EncodedText(NamedTuple):
    """A text as unit vectors (tokens, dimensions); `content` is False for special tokens."""

    vectors: Tensor
    content: Tensor
    truncated: bool


class BertEncoder:
    """An encoder, up to one of its layers.

    Args:
        folder: the model's files, or its name in the local cache.
        layer: the layer whose output is used, from 1; None takes the last.
        max_length: tokens of a text that are read, special tokens included; None takes the model's
            own limit.
        device: where it runs: cpu, cuda, mps.
        batch_size: texts per batch.

    Raises:
        ConvragError: the model cannot be loaded.
    """

    def __init__(
        self, folder: str, layer: int | None, max_length: int | None, device: str, batch_size: int
    ) -> None:
        from transformers import AutoModel

        self.tokenizer, model = load_pretrained(folder, AutoModel, device)
        self.model = model.float()
        self.layer = model.config.num_hidden_layers if layer is None else layer
        self.max_length = max_length or find_max_length(self.tokenizer, model.config)
        self.device = device
        self.batch_size = batch_size
        name = type(self.tokenizer).__name__.removesuffix("Fast")
        self._prefix = " " if name in _SPACE_PREFIXED else ""
        self._lock = threading.Lock()  # tokenizers must not be used by two threads at once

    def encode(self, texts: Sequence[str]) -> dict[str, EncodedText]:
        """Encode each distinct text. Texts of similar length share a batch."""
        with self._lock:
            return self._encode(list(dict.fromkeys(texts)))

    def _encode(self, distinct: Sequence[str]) -> dict[str, EncodedText]:
        ids = {
            text: self.tokenizer(self._prepare(text), verbose=False)["input_ids"]
            for text in distinct
        }
        order = sorted(distinct, key=lambda text: (len(ids[text]), text))
        encoded: dict[str, EncodedText] = {}
        for start in range(0, len(order), self.batch_size):
            encoded |= self._encode_batch(order[start : start + self.batch_size], ids)
        return encoded

    def _prepare(self, text: str) -> str:
        return f"{self._prefix}{text.strip()}" if text.strip() else ""

    def _encode_batch(
        self, texts: Sequence[str], ids: dict[str, list[int]]
    ) -> dict[str, EncodedText]:
        encoded = self.tokenizer(
            [self._prepare(text) for text in texts],
            truncation=True,
            max_length=self.max_length,
            padding=True,
            return_tensors="pt",
            return_special_tokens_mask=True,
        )
        special = encoded.pop("special_tokens_mask").bool()
        with torch.inference_mode():
            output = self.model(**encoded.to(self.device), output_hidden_states=True)
        vectors = torch.nn.functional.normalize(output.hidden_states[self.layer], dim=-1).cpu()
        present = encoded["attention_mask"].bool().cpu()
        return {
            text: EncodedText(
                vectors[row][present[row]],
                ~special[row][present[row]],
                len(ids[text]) > self.max_length,
            )
            for row, text in enumerate(texts)
        }


def match_tokens(candidate: EncodedText, reference: EncodedText) -> Overlap:
    """Compute BERTScore of two texts.

    It is the mean, over the tokens of one, of the cosine with the nearest token of the other.
    Special tokens may be matched, but are not averaged over, as in bert-score without idf weights.
    A text without a token scores 0.
    """
    if not candidate.content.any() or not reference.content.any():
        return Overlap(0.0, 0.0, 0.0)
    similarity = candidate.vectors @ reference.vectors.T
    precision = float(similarity.max(dim=1).values[candidate.content].double().mean())
    recall = float(similarity.max(dim=0).values[reference.content].double().mean())
    f1 = 0.0
    if precision + recall > 0:
        f1 = 2 * precision * recall / (precision + recall)
    return Overlap(round(precision, _DIGITS), round(recall, _DIGITS), round(f1, _DIGITS))


def read_baseline(path: Path, layer: int) -> Overlap:
    """Read a layer's row of a baseline file of bert-score (LAYER,P,R,F).

    It has the scores of random pairs of sentences.

    Raises:
        ValueError: the file has no such row.
    """
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        number, *values = line.split(",")
        if number.strip() == str(layer):
            precision, recall, f1 = map(float, values)
            return Overlap(precision, recall, f1)
    raise ValueError(f"it has no row for layer {layer}")
