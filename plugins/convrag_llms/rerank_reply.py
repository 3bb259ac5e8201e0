"""Reads the scores of a rerank reply, in the forms of all servers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convrag_llms.errors import UnusableReply
from convrag_llms.json_requests import is_place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_REPEAT = "Nothing of it was stored. Try another model or a newer server."
"""What to do about a server that is the right one, and makes mistakes."""


@dataclass(frozen=True)
class Scores:
    """The scores of a reply.

    Args:
        values: (n,) in the order of the texts.
        tokens: of the query and the texts.
        cost: US dollars; None where no price is known.
    """

    values: NDArray[np.float64]
    tokens: int
    cost: float | None


def read_scores(data: Any, count: int) -> NDArray[np.float64]:
    """Read the scores of a reply, in the order of the texts: (count,).

    The list is the whole reply (TEI), its `results` (Cohere, Jina, vLLM, Infinity, llama.cpp) or
    its `data` (Voyage). A score is `relevance_score` or `score`.

    Raises:
        UnusableReply: scores are missing, or are none.
    """
    import numpy as np

    rows = _find_rows(data)
    indices = [row.get("index") for row in rows]
    outside = [index for index in indices if not is_place(index, count)]
    if outside:
        raise UnusableReply(
            f"it sent the index {outside[0]!r} where there are {count} texts", _REPEAT
        )
    missing = count - len(set(indices))
    if missing or len(indices) > count:
        raise UnusableReply(
            f"it sent {len(indices)} scores for {count} texts, {missing} of which have none",
            _REPEAT,
        )
    scores = np.full(count, np.nan)
    for row in rows:
        scores[row["index"]] = _read_score(row)
    if not np.isfinite(scores).all():
        raise UnusableReply("it sent a score that is not a finite number", _REPEAT)
    return scores


def _find_rows(data: Any) -> list[Mapping[str, Any]]:
    """Find the list of scores. Raises UnusableReply."""
    rows = data
    if isinstance(data, dict):
        rows = data.get("results", data.get("data"))
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnusableReply("its reply has no list of scores (results)")
    return rows


def _read_score(row: Mapping[str, Any]) -> float:
    """Read a score; NaN for what is no number."""
    score = row.get("relevance_score", row.get("score"))
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    try:
        return float(score) if is_number else math.nan
    except OverflowError:  # an integer of hundreds of digits
        return math.nan
