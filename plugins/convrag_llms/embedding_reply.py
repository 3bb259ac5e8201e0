"""Reads the vectors of a reply in OpenAI's form: as numbers, or as base64 of float32."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convrag_llms.errors import UnusableReply
from convrag_llms.json_requests import is_place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Vectors:
    """The vectors of a reply.

    Args:
        rows: (n, d) float32 of unit length, or zero.
        tokens: of the texts.
        cost: US dollars; None where no price is known.
    """

    rows: NDArray[np.float32]
    tokens: int
    cost: float | None


def read_vectors(data: Any, count: int) -> NDArray[np.float32]:
    """Read the vectors of a reply, in the order of the texts: (count, d) unit rows.

    Raises:
        UnusableReply: vectors are missing, or are none.
    """
    import numpy as np

    rows = data.get("data") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnusableReply("its reply has no list of vectors (data)")
    if len(rows) != count:
        raise UnusableReply(f"it sent {len(rows)} vectors for {count} texts", _REPEAT)
    ordered = [_decode(row.get("embedding")) for row in _sort_by_index(rows, "vectors")]
    widths = sorted({len(vector) for vector in ordered})
    if len(widths) > 1:
        raise UnusableReply(f"it sent vectors of different lengths: {widths}", _REPEAT)
    vectors = np.stack(ordered)
    if not np.isfinite(vectors).all():
        raise UnusableReply("it sent a vector with NaN or infinite numbers", _REPEAT)
    return normalise(vectors)


_REPEAT = "Nothing of it was stored. Try another model or a newer server."
"""What to do about a server that is the right one, and makes mistakes."""


def normalise(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    """Bring rows to unit length; rows of zeros stay."""
    import numpy as np

    largest = np.abs(vectors).max(axis=1, keepdims=True)  # whose square may be infinite
    scaled = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    rows = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
    unit_rows: NDArray[np.float32] = rows.astype(np.float32)
    return unit_rows


def _sort_by_index(rows: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """Sort the rows of a reply by their indices; their order counts where none has an index."""
    if all(row.get("index") is None for row in rows):
        return list(rows)
    by_index = {row["index"]: row for row in rows if is_place(row.get("index"), len(rows))}
    if len(by_index) != len(rows):
        raise UnusableReply(f"it sent {name} whose indices are not 0 to {len(rows) - 1}", _REPEAT)
    return [by_index[index] for index in range(len(rows))]


def _decode(embedding: Any) -> NDArray[np.float64]:
    """Decode one vector. Raises UnusableReply."""
    import numpy as np

    try:
        if isinstance(embedding, str):
            vector = np.frombuffer(b64decode(embedding, validate=True), dtype="<f4")
        else:
            vector = np.asarray(embedding, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, binascii.Error):
        vector = np.zeros(0)
    if vector.ndim != 1 or not len(vector):
        raise UnusableReply("it sent a vector that is neither a list of numbers nor base64")
    return vector.astype(np.float64)
