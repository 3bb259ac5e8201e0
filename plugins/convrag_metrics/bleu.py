"""BLEU by sacrebleu: of one answer, and of all answers from their mean counts."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU

Tokenize = Literal["13a", "intl", "zh", "char", "none"]

ORDERS = (1, 2, 3, 4)
CORPUS_BLEU = "BLEU"
MATCHED = tuple(f"BLEU_matched_{order}" for order in ORDERS)
TOTAL = tuple(f"BLEU_total_{order}" for order in ORDERS)
LENGTHS = ("BLEU_answer_length", "BLEU_reference_length")
COUNTS = (*MATCHED, *TOTAL, *LENGTHS)


def sentence_bleu(bleu: BLEU, answer: str, reference: str) -> dict[str, float]:
    """The BLEU of one answer (0 to 100), and the counts that the BLEU of all answers is computed from."""
    score = bleu.sentence_score(answer, [reference])
    counts = (*score.counts, *score.totals, score.sys_len, score.ref_len)
    return {"sentence_BLEU": float(score.score), **dict(zip(COUNTS, map(float, counts), strict=True))}


def make_bleu(tokenize: Tokenize) -> BLEU:
    """The BLEU of `sacrebleu --sentence-level`: exponential smoothing, effective order."""
    from sacrebleu.metrics import BLEU

    return BLEU(tokenize=tokenize, effective_order=True)


def corpus_bleu(means: Mapping[str, float]) -> float:
    """BLEU-4 of all answers together (0 to 100), not smoothed: 0 where no four words of any answer match.

    Means give the same score as sums, since only ratios of counts matter. (sacrebleu takes only sums.)
    """
    matched, total = ([means[name] for name in names] for names in (MATCHED, TOTAL))
    answer, reference = (means[name] for name in LENGTHS)
    if not all(matched):
        return 0.0
    precision = sum(log(part / whole) for part, whole in zip(matched, total, strict=True)) / len(ORDERS)
    brevity = min(0.0, 1 - reference / answer)
    return 100 * exp(precision + brevity)
