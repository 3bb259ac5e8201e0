"""What two token lists share: as bags, and in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean, each between 0 and 1."""

    precision: float
    recall: float
    f1: float


def bags(answer: Sequence[str], reference: Sequence[str]) -> Overlap:
    """Shared tokens by number of occurrences, as SQuAD counts them; two empty lists are alike."""
    if not answer or not reference:
        alike = float(not answer and not reference)
        return Overlap(alike, alike, alike)
    return _overlap((Counter(answer) & Counter(reference)).total(), answer, reference)


def in_order(answer: Sequence[str], reference: Sequence[str]) -> Overlap:
    """The longest common subsequence: ROUGE-L of token lists; 0 where one is empty, as in rouge-score."""
    from rapidfuzz.distance import LCSseq

    if not answer or not reference:
        return Overlap(0.0, 0.0, 0.0)
    numbers: dict[str, int] = {}  # the library compares hashes, and those of strings differ from run to run
    first, second = ([numbers.setdefault(token, len(numbers)) for token in each] for each in (answer, reference))
    return _overlap(int(LCSseq.similarity(first, second)), answer, reference)


def _overlap(shared: int, answer: Sequence[str], reference: Sequence[str]) -> Overlap:
    precision, recall = shared / len(answer), shared / len(reference)
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall) if shared else 0.0)
