"""The guard against invented rewrites: what a rewrite talks about must have been talked about."""

from __future__ import annotations

from collections.abc import Iterable

from convrag import Turn
from convrag_condense.words import content_stems


def known_share(rewrite: str, question: str, history: Iterable[Turn]) -> float:
    """The share of the rewrite's content words that the question or the history has, in any inflection; 1 for none.

    The whole history counts, also what was too long ago to be shown: a rewrite may know it from a later answer.
    """
    stems = content_stems(rewrite)
    known = set(content_stems(question))
    for turn in history:
        known.update(content_stems(turn.question))
        known.update(content_stems(turn.answer))
    return sum(stem in known for stem in stems) / len(stems) if stems else 1.0
