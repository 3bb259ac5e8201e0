"""Texts in batches of one length, as many at once as the device likes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


T = TypeVar("T", str, tuple[str, str])

CPU_TOKENS = 1024
"""Tokens of a batch on a CPU, padding included.

More do not fit into its caches, and fewer need more calls.
"""


def compute_in_batches(
    texts: Sequence[T],
    compute: Callable[[list[T]], NDArray[np.float32]],
    model: Any,
    batch_size: int,
) -> NDArray[np.float32]:
    """Compute a row for each text or pair of texts, in batches of similar length.

    The rows are in the order of the texts.

    Args:
        texts: what to compute rows for; at least one.
        compute: computes the rows of a batch.
        model: of sentence-transformers: its tokenizer and device.
        batch_size: the most texts in a batch.
    """
    import numpy as np

    tokens = count_tokens(texts, model)
    most = CPU_TOKENS if model.device.type == "cpu" else None
    rows: list[Any] = [None] * len(texts)
    for batch in make_batches(tokens, batch_size, most):
        computed = compute([texts[place] for place in batch])
        for place, row in zip(batch, computed, strict=True):
            rows[place] = row
    return np.asarray(rows, dtype=np.float32)


def make_batches(
    lengths: Sequence[int], batch_size: int, most_tokens: int | None
) -> Iterator[list[int]]:
    """Yield the places of texts in batches, the longest first.

    So memory runs out at the first batch or never.

    Args:
        lengths: tokens of each text.
        batch_size: the most texts in a batch.
        most_tokens: the most tokens in a batch, with every text padded to the longest; a longer
            text is a batch by itself.
    """
    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    while order:
        size = batch_size
        if most_tokens:
            longest = max(lengths[order[0]], 1)
            size = max(1, min(size, most_tokens // longest))
        yield order[:size]
        order = order[size:]


def count_tokens(texts: Sequence[T], model: Any) -> list[int]:
    """Count the tokens of each text that the model reads; guess them without its tokenizer."""
    from transformers import PreTrainedTokenizerBase

    tokenizer = model.tokenizer
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        return [_count_characters(text) // 4 for text in texts]
    encoded = tokenizer(
        list(texts), truncation=True, return_attention_mask=False, return_token_type_ids=False
    )
    return [len(ids) for ids in encoded["input_ids"]]


def _count_characters(text: str | tuple[str, str]) -> int:
    """Count the characters of a text, or of a pair of texts."""
    return len(text) if isinstance(text, str) else sum(len(part) for part in text)
