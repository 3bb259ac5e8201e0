"""BLEU of one answer, and of all answers together, as sacrebleu computes them."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU

Tokenize = Literal["13a", "intl", "zh", "char", "none"]

CORPUS_BLEU = "BLEU"

_ORDERS = (1, 2, 3, 4)
_MATCHED = tuple(f"BLEU_matched_{order}" for order in _ORDERS)
_TOTAL = tuple(f"BLEU_total_{order}" for order in _ORDERS)
_ANSWER_LENGTH = "BLEU_answer_length"
_REFERENCE_LENGTH = "BLEU_reference_length"

COUNTS = (*_MATCHED, *_TOTAL, _ANSWER_LENGTH, _REFERENCE_LENGTH)
"""The counts of an answer that the BLEU of all answers is computed from."""


def make_bleu(tokenize: Tokenize) -> BLEU:
    """Make the BLEU of `sacrebleu --sentence-level`: exponential smoothing, effective order."""
    from sacrebleu.metrics import BLEU

    return BLEU(tokenize=tokenize, effective_order=True)


def sentence_bleu(bleu: BLEU, answer: str, reference: str) -> dict[str, float]:
    """Compute the BLEU of one answer (0 to 100), and the counts for the BLEU of all answers."""
    score = bleu.sentence_score(answer, [reference])
    counts = (*score.counts, *score.totals, score.sys_len, score.ref_len)
    named = dict(zip(COUNTS, map(float, counts), strict=True))
    return {"sentence_BLEU": float(score.score), **named}


def corpus_bleu(means: Mapping[str, float]) -> float:
    """Compute BLEU-4 of all answers together (0 to 100), not smoothed.

    It is 0 where no four words of any answer match. Means of the counts give the same score as
    sums, since only ratios matter. (sacrebleu takes only sums.)
    """
    matched = [means[name] for name in _MATCHED]
    total = [means[name] for name in _TOTAL]
    if not all(matched):
        return 0.0
    log_precisions = [log(part / whole) for part, whole in zip(matched, total, strict=True)]
    precision = sum(log_precisions) / len(log_precisions)
    brevity = min(0.0, 1 - means[_REFERENCE_LENGTH] / means[_ANSWER_LENGTH])
    return 100 * exp(precision + brevity)
