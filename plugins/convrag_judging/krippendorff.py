"""Krippendorff's alpha: how far people (or models) agree beyond chance, however many judged each unit.

Our own, since the library of that name is under the GPL. It follows K. Krippendorff, Computing Krippendorff's
alpha-reliability (2011), whose worked examples are our tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Level = Literal["nominal", "ordinal", "interval"]


def alpha(units: Iterable[Sequence[float]], level: Level = "ordinal") -> float | None:
    """1 is perfect agreement, 0 what chance gives; None where it is undefined, all values being equal.

    Args:
        units: the values that each unit was given, by whom does not matter. A unit with fewer than two tells nothing.
        level: what the values are: names ("nominal"), ranks ("ordinal") or numbers on an even scale ("interval").
    """
    import numpy as np

    judged = [unit for unit in units if len(unit) > 1]
    if not judged:
        return None
    values = np.unique(np.concatenate([np.asarray(unit, dtype=np.float64) for unit in judged]))
    pairs = np.zeros((len(values), len(values)))
    for unit in judged:
        counts = np.bincount(np.searchsorted(values, unit), minlength=len(values))
        pairs += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = pairs.sum(axis=1)
    differences = _differences(values, totals, level)
    expected = float(totals @ differences @ totals)
    if not expected:
        return None
    return 1.0 - (float(totals.sum()) - 1.0) * float((pairs * differences).sum()) / expected


def _differences(values: NDArray[np.float64], totals: NDArray[np.float64], level: Level) -> NDArray[np.float64]:
    """The squared difference of each two values; ranks differ by how many values lie between them."""
    import numpy as np

    if level == "nominal":
        return 1.0 - np.eye(len(values))
    places = np.cumsum(totals) - totals / 2 if level == "ordinal" else values
    difference: NDArray[np.float64] = (places[:, None] - places[None, :]) ** 2
    return difference
