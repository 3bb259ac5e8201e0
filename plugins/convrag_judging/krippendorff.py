"""Krippendorff's alpha: the agreement of any number of annotators, corrected for chance.

It is our own, since the library of that name is under the GPL. It follows K. Krippendorff,
Computing Krippendorff's alpha-reliability (2011), whose worked examples are our tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(units: Iterable[Sequence[float]], level: Level = "ordinal") -> float | None:
    """Compute Krippendorff's alpha: 1 is perfect agreement, 0 is chance.

    It is None where it is undefined, because all values are equal.

    Args:
        units: for each unit the values that annotators gave it, in any order. A unit with fewer
            than two is left out.
        level: whether the values are names ("nominal"), ranks ("ordinal") or numbers on an even
            scale ("interval").
    """
    import numpy as np

    rated = [unit for unit in units if len(unit) > 1]
    if not rated:
        return None
    values = np.unique(np.concatenate([np.asarray(unit, dtype=np.float64) for unit in rated]))
    coincidences = np.zeros((len(values), len(values)))
    for unit in rated:
        counts = np.bincount(np.searchsorted(values, unit), minlength=len(values))
        pairs = np.outer(counts, counts) - np.diag(counts)
        coincidences += pairs / (len(unit) - 1)
    totals = coincidences.sum(axis=1)
    differences = _square_differences(values, totals, level)
    observed = float((coincidences * differences).sum())
    expected = float(totals @ differences @ totals)
    if not expected:
        return None
    return 1.0 - (float(totals.sum()) - 1.0) * observed / expected


def _square_differences(
    values: NDArray[np.float64], totals: NDArray[np.float64], level: Level
) -> NDArray[np.float64]:
    """Compute the squared difference of each two values.

    Two ranks differ by the number of given values between them.
    """
    import numpy as np

    if level == "nominal":
        return 1.0 - np.eye(len(values))
    places = values
    if level == "ordinal":
        places = np.cumsum(totals) - totals / 2
    differences: NDArray[np.float64] = (places[:, None] - places[None, :]) ** 2
    return differences
