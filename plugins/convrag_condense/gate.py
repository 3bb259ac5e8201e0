"""Whether a question leans on what was said before: reasons that can be read off its own words.

It errs towards asking the LLM, which is told to leave alone what stands by itself: a needless call costs a second, a
missed one sends the search to the wrong place.
"""

from __future__ import annotations

from convrag_condense.words import words

_PRONOUNS = """
it its it's itself they they're them their theirs themselves this that that's these those he he's him his she she's her
hers aforementioned former latter
"""
_GOING_ON = "also additionally another earlier else elaborate furthermore moreover other others"
_OPENERS = "and but or so then plus besides because"
_COMPARISON = """
between compare compared compares comparison comparisons connected connection connections contrast contrasts differ
difference differences different differs overlap overlaps overlapping relate related relates relation relations
relationship relationships similar similarities similarity similarly versus vs
"""
_PHRASES = """
as mentioned, as well, as you said, expand on, go on, how about, how come, how so, like you said, more about, tell me
more, the above, the previous, the same, what about, what if, which one, which ones, why not, you just said, you
mentioned, you said
"""

PRONOUNS = frozenset(_PRONOUNS.split())
"""Words that stand for something that was named."""

ELLIPSIS_WORDS = frozenset(_GOING_ON.split())
"""Words that go on from something that was said."""

ELLIPSIS_PHRASES = tuple(" ".join(phrase.split()) for phrase in _PHRASES.split(","))
"""The same in several words."""

ELLIPSIS_OPENERS = frozenset(_OPENERS.split())
"""Words that go on from something only where a question begins with them."""

COMPARISON = frozenset(_COMPARISON.split())
"""Words that need two sides, of which one is often left out."""


def reasons(question: str, short: int) -> list[str]:
    """Why a question needs its history: "pronoun", "ellipsis", "comparison", "short"; none where it stands alone.

    Args:
        question: as the user typed it.
        short: the number of words from which on a question is no longer short.
    """
    said = words(question)
    found = {
        "pronoun": any(word in PRONOUNS for word in said),
        "ellipsis": _elliptical(said),
        "comparison": any(word in COMPARISON for word in said),
        "short": len(said) < short,
    }
    return [reason for reason, holds in found.items() if holds]


def _elliptical(said: list[str]) -> bool:
    line = f" {' '.join(said)} "
    return (
        any(word in ELLIPSIS_WORDS for word in said)
        or any(f" {phrase} " in line for phrase in ELLIPSIS_PHRASES)
        or (bool(said) and said[0] in ELLIPSIS_OPENERS)
    )
