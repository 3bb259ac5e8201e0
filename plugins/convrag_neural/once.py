"""Scores of texts, each different text scored once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def scored_once(texts: Sequence[str], score: Callable[[list[str]], NDArray[np.floating]]) -> NDArray[np.float64]:
    """A score for each text, in order, from a function that scores different texts.

    Equal texts get equal scores so: a model may round a text's score otherwise in another batch.
    """
    import numpy as np

    if not texts:
        return np.zeros(0)
    distinct = list(dict.fromkeys(texts))
    of_text = dict(zip(distinct, score(distinct).tolist(), strict=True))
    return np.array([of_text[text] for text in texts], dtype=np.float64)
