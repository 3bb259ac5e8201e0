"""Token overlap of two texts: precision, recall and F1 over words without articles, and ROUGE-L."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ROUGE_TOKEN = re.compile(r"[a-z0-9]+")


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean, each between 0 and 1."""

    precision: float
    recall: float
    f1: float


def tokenize_squad(text: str) -> list[str]:
    """Split a text into SQuAD's tokens: lower case, without ASCII punctuation and articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def tokenize_rouge(text: str) -> list[str]:
    """Split a text into ROUGE's tokens: runs of a-z and 0-9 in lower case, not stemmed."""
    return _ROUGE_TOKEN.findall(text.lower())


@lru_cache(maxsize=4096)
def tokenize_passage(text: str) -> tuple[str, ...]:
    """Split a passage into SQuAD's tokens; cached, since many turns show the same passages."""
    return tuple(tokenize_squad(text))


def measure_overlap(answer: Sequence[str], reference: Sequence[str]) -> Overlap:
    """Measure the shared tokens by occurrences, as SQuAD does; two empty lists score 1."""
    if not answer or not reference:
        both_empty = float(not answer and not reference)
        return Overlap(both_empty, both_empty, both_empty)
    return _divide((Counter(answer) & Counter(reference)).total(), answer, reference)


def measure_token_f1(answer: str, reference: str) -> float:
    """Measure SQuAD's F1 of two texts."""
    return measure_overlap(tokenize_squad(answer), tokenize_squad(reference)).f1


def measure_subsequence(answer: Sequence[str], reference: Sequence[str]) -> Overlap:
    """Measure the longest common subsequence of two token lists, as in ROUGE-L.

    It is 0 where one list is empty, as in rouge-score.
    """
    from rapidfuzz.distance import LCSseq

    if not answer or not reference:
        return Overlap(0.0, 0.0, 0.0)
    # the library compares hashes, and the hashes of strings differ from run to run
    numbers: dict[str, int] = {}
    answer_numbers = [numbers.setdefault(token, len(numbers)) for token in answer]
    reference_numbers = [numbers.setdefault(token, len(numbers)) for token in reference]
    return _divide(int(LCSseq.similarity(answer_numbers, reference_numbers)), answer, reference)


def measure_rouge_l(answer: str, reference: str) -> float:
    """Measure ROUGE-L's F1 of two texts, over lower-case [a-z0-9]+ tokens without stemming."""
    return measure_subsequence(tokenize_rouge(answer), tokenize_rouge(reference)).f1


def _divide(shared: int, answer: Sequence[str], reference: Sequence[str]) -> Overlap:
    if not shared:
        return Overlap(0.0, 0.0, 0.0)
    precision = shared / len(answer)
    recall = shared / len(reference)
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall))
