"""Ranking in several steps: each ranks the texts that the step before it has kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class RankingStep(NamedTuple):
    """A step of a cascade.

    Args:
        score: gives each of n different texts a score; higher is better.
        keep: the number of texts that go on to the next step; None keeps all, and is for the last.
    """

    score: Callable[[Sequence[str]], Sequence[float]]
    keep: int | None = None


@dataclass
class CascadeScores:
    """The scores of a cascade.

    Args:
        final: text -> its score, by which all texts are in the order of the cascade.
        steps: for each step, text -> the score that it gave. A step that was not asked, since it
            would have kept all its texts, has none.
    """

    final: dict[str, float]
    steps: list[dict[str, float]] = field(default_factory=list)


def score_in_steps(
    steps: Sequence[RankingStep], texts: Sequence[str], *, best_first: bool = True
) -> CascadeScores:
    """Score texts in steps, from a cheap one for many texts to a dear one for few.

    The texts of the last step have its scores. Texts that a step drops are below all that it keeps,
    in the order of its scores; equal scores stay equal. A step with no more texts than it keeps is
    not asked.

    Args:
        steps: at least one, each cheaper than the next; all but the last one keep some texts only.
        texts: n texts; equal ones count as one.
        best_first: whether a step is given the texts in the order of the step before it; if not,
            in the order in which they were given.

    Example:
        >>> longest = RankingStep(lambda texts: [len(text) for text in texts], keep=2)
        >>> last = RankingStep(lambda texts: [float(text[-1]) for text in texts])
        >>> score_in_steps([longest, last], ["aa1", "a9", "aa2"]).final
        {'aa1': 1.0, 'aa2': 2.0, 'a9': 0.0}
    """
    remaining = list(dict.fromkeys(texts))
    dropped: list[dict[str, int]] = []
    given: list[dict[str, float]] = []
    for step in steps:
        if step.keep is not None and len(remaining) <= step.keep:
            given.append({})
            continue
        scores = dict(zip(remaining, step.score(remaining), strict=True))
        given.append(scores)
        if step.keep is None:
            continue
        ranked = sorted(remaining, key=scores.__getitem__, reverse=True)  # equal ones keep order
        kept = ranked[: step.keep]
        dropped.append(_rank_dropped(ranked[step.keep :], scores))
        remaining = kept if best_first else sorted(kept, key=remaining.index)
    final = dict(given[-1])
    for ranks in reversed(dropped):
        least = min(final.values(), default=0.0)
        final |= {text: least - 1 - rank for text, rank in ranks.items()}
    return CascadeScores(final, given)


def _rank_dropped(texts: Sequence[str], scores: dict[str, float]) -> dict[str, int]:
    """Rank texts, best first, from 0; equal scores share a rank."""
    distinct_scores = dict.fromkeys(scores[text] for text in texts)
    ranks = {score: rank for rank, score in enumerate(distinct_scores)}
    return {text: ranks[scores[text]] for text in texts}
