"""Answers from the reference contexts of MTRAG, compared at equal length."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

import numpy as np

from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.stages import Generator
from convrag.sdk.text.answers import truncate_words
from convrag.sdk.text.citations import strip_citations
from convrag_compare.significance import compute_sign_flip_p
from convrag_ginger.length_limit import stem_content
from mtrag_contexts import ContextTurn


def answer_turns(turns: Sequence[ContextTurn], generator: Generator) -> list[str]:
    """The answers of a generator that sees the contexts."""
    shown = [
        Evidence(tuple(EvidenceItem(n, p, p.content) for n, p in enumerate(t.passages, 1)))
        for t in turns
    ]
    return [
        generator.generate(turn.question, seen).text
        for turn, seen in zip(turns, shown, strict=True)
    ]


def split_bigrams(text: str) -> list[tuple[str, str]]:
    """The pairs of neighbouring content words, as stems."""
    words = stem_content(text)
    return list(pairwise(words))


def compare_answers(
    turns: Sequence[ContextTurn],
    ours: list[str],
    others: list[str],
    split: Callable[[str], Sequence[Hashable]] = stem_content,
) -> tuple[float, float, float]:
    """Compare answers at equal length.

    Args:
        turns: of the answers.
        ours: an answer for each turn.
        others: another one for each turn.
        split: divides a text into what is counted: its content words, say.

    Returns:
        The mean share of the reference's parts that our answers and the others have, each pair cut
        to the shorter, and the p-value of their difference (sign flips of conversations).
    """
    values = []
    for turn, *pair in zip(turns, ours, others, strict=True):
        words = min(len(strip_citations(text).split()) for text in pair)
        wanted = split(turn.reference)
        found = [set(split(truncate_words(strip_citations(text), words))) for text in pair]
        values.append([sum(part in has for part in wanted) / max(1, len(wanted)) for has in found])
    rows = np.array(values)
    return (
        float(rows[:, 0].mean()),
        float(rows[:, 1].mean()),
        compute_p(turns, rows[:, 0] - rows[:, 1]),
    )


def compute_p(turns: Sequence[ContextTurn], differences: Sequence[float]) -> float:
    """The p-value of the differences of turns, with the conversation as the unit."""
    totals: Counter[str] = Counter()
    for turn, difference in zip(turns, differences, strict=True):
        totals[turn.conversation] += difference  # type: ignore[assignment]
    return float(compute_sign_flip_p(np.array(list(totals.values()))[:, None])[0])
