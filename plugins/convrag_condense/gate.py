"""Tells whether a question depends on the history, and whether its rewrite has drifted.

The gate `rewriter.gate=heuristic` knows the published system's (English) words. It errs towards
asking the LLM, whose prompt says to leave a standalone question as it is: a needless call costs a
second, a missing one sends the search to the wrong place.
"""

from collections.abc import Sequence

from convrag import Question, Rewrite, Turn
from convrag.sdk.text.analysis import find_stems, split_compounds, split_words

_PRONOUNS = """
it its it's itself they they're them their theirs themselves this that that's these those he he's
him his she she's her hers aforementioned former latter
"""
_ELLIPSIS = "also additionally another earlier else elaborate furthermore moreover other others"
_OPENERS = "and but or so then plus besides because"
_COMPARISON = """
between compare compared compares comparison comparisons connected connection connections contrast
contrasts differ difference differences different differs overlap overlaps overlapping relate
related relates relation relations relationship relationships similar similarities similarity
similarly versus vs
"""
_PHRASES = """
as mentioned, as well, as you said, expand on, go on, how about, how come, how so, like you said,
more about, tell me more, the above, the previous, the same, what about, what if, which one,
which ones, why not, you just said, you mentioned, you said
"""

PRONOUNS = frozenset(_PRONOUNS.split())
"""Pronouns that may refer to the history."""

ELLIPSIS_WORDS = frozenset(_ELLIPSIS.split())
"""Words by which a question continues the conversation."""

ELLIPSIS_PHRASES = tuple(" ".join(phrase.split()) for phrase in _PHRASES.split(","))
"""Phrases by which a question continues the conversation."""

ELLIPSIS_OPENERS = frozenset(_OPENERS.split())
"""Words by which a question continues the conversation if it begins with them."""

COMPARISON = frozenset(_COMPARISON.split())
"""Words of comparison: one of the two sides is often left out."""


def find_reasons(question: str, short: int) -> list[str]:
    """Find the reasons why a question depends on the history.

    Args:
        question: as the user typed it.
        short: a question of fewer words is short.

    Returns:
        "pronoun", "ellipsis", "comparison" and "short", where they hold; none for a standalone
        question.
    """
    words = split_words(question)
    found = {
        "pronoun": any(word in PRONOUNS for word in words),
        "ellipsis": _is_elliptical(words),
        "comparison": any(word in COMPARISON for word in words),
        "short": len(words) < short,
    }
    return [reason for reason, holds in found.items() if holds]


def _is_elliptical(words: Sequence[str]) -> bool:
    """Tell whether a question continues the history by its words, phrases or first word."""
    if not words:
        return False
    if words[0] in ELLIPSIS_OPENERS or any(word in ELLIPSIS_WORDS for word in words):
        return True
    line = f" {' '.join(words)} "
    return any(f" {phrase} " in line for phrase in ELLIPSIS_PHRASES)


_EDGES = "?!.,;:…\"'`“”‘’«»()[]{}¿¡。、，！？；：「」『』-–—"


def replace_drifted_rewrite(rewrite: Rewrite, question: Question, min_share: float) -> Rewrite:
    """Return the rewrite, or the question in the user's own words where the rewrite is not better.

    It is not better where it is a fallback, says the same as the question, or has drifted. A share
    that was computed joins the trace as `known_share`, and a rewrite that was rejected as
    `rejected`.

    Args:
        rewrite: the LLM's rewrite of the question.
        question: with the whole history and the user's profile, whose words are known.
        min_share: the least share of known content words, from 0 to 1; a rewrite with less has
            drifted.
    """
    is_same = normalise_question(rewrite.text) == normalise_question(question.text)
    if rewrite.fallback or is_same:
        return Rewrite.of(question.text, fallback=rewrite.fallback, **rewrite.trace)
    said = [*list_said(question.history), *question.profile, question.text]
    share = compute_known_share(rewrite.text, said)
    trace = {**rewrite.trace, "known_share": round(share, 4)}
    if share < min_share:
        reason = (
            f"the guard rejected the rewrite: {share:.0%} of its content words were said before"
        )
        return Rewrite.of(question.text, fallback=reason, **trace, rejected=rewrite.text)
    return Rewrite.of(rewrite.text, **trace)


def compute_known_share(rewrite: str, said: Sequence[str]) -> float:
    """Compute the share of a rewrite's content words that the conversation has.

    Words count in any inflection. The whole history counts, also the part that the LLM did not see,
    since a later answer may repeat it. It is read backward, until all words are found, which the
    last turns mostly have. The share is 1 for a rewrite without content words.

    Args:
        rewrite: the rewrite.
        said: what was said so far, oldest first.
    """
    stems = find_part_stems(rewrite)
    if not stems:
        return 1.0
    missing = set(stems)
    for text in reversed(said):
        missing -= find_part_stems(text)
        if not missing:
            break
    return (len(stems) - len(missing)) / len(stems)


def list_said(history: Sequence[Turn]) -> list[str]:
    """List the questions and answers of a history, oldest first."""
    return [text for turn in history for text in (turn.question, turn.answer)]


def find_part_stems(text: str) -> frozenset[str]:
    """Find the different stems of a text's content words; each part of a compound is a word."""
    return find_stems(split_compounds(text))


def normalise_question(question: str) -> str:
    """Normalise a question: lower case, single spaces, no punctuation around words.

    "C++" keeps its signs.
    """
    words = [word.strip(_EDGES) for word in question.casefold().split()]
    return " ".join(filter(None, words)) or question.strip()
