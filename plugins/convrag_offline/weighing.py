"""What the words of a question weigh."""

from __future__ import annotations

import math
from collections.abc import Iterable

from convrag_offline.document_frequencies import Frequencies


def weights(stems: Iterable[str], frequencies: Frequencies) -> dict[str, float]:
    """Stem -> weight. A stem that the corpus lacks is as rare as can be: missing it counts."""
    rarest = math.log(frequencies.passages + 1) or 1.0
    return {stem: frequencies.idf(stem) or rarest for stem in sorted(stems)}
