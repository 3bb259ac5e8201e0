"""A check for drift (`rewriter.guard`): what a rewrite is about must have been talked about."""

from collections.abc import Sequence, Set

from convrag import Question, Rewrite, Turn
from convrag.sdk.words import find_stems, split_compounds

_EDGES = "?!.,;:…\"'`“”‘’«»()[]{}¿¡。、，！？；：「」『』-–—"


def replace_drifted_rewrite(rewrite: Rewrite, question: Question, min_share: float) -> Rewrite:
    """The rewrite, or the question in the user's own words where the rewrite is no better.

    It is no better where it is a fallback, says the same as the question, or has drifted. A share that was computed
    joins the trace as `known_share`, and a rewrite that was rejected as `rejected`.

    Args:
        rewrite: what the LLM made of the question.
        question: with the whole history, and the user's profile, which counts as said.
        min_share: the least share of known content words, from 0 to 1; a rewrite with less has drifted.
    """
    if rewrite.fallback or normalise_question(rewrite.text) == normalise_question(question.text):
        return Rewrite.of(question.text, fallback=rewrite.fallback, **rewrite.trace)
    known = read_stems(question.history).union(*map(find_part_stems, question.profile))
    share = compute_known_share(rewrite.text, question.text, known)
    trace = {**rewrite.trace, "known_share": round(share, 4)}
    if share < min_share:
        reason = f"the guard rejected the rewrite: {share:.0%} of its content words were said before"
        return Rewrite.of(question.text, fallback=reason, **trace, rejected=rewrite.text)
    return Rewrite.of(rewrite.text, **trace)


def compute_known_share(rewrite: str, question: str, said: Set[str]) -> float:
    """The share of a rewrite's content words that stand in the question or the history, in any inflection.

    The whole history counts, also what the LLM was not shown: a later answer may repeat it. 1 for a rewrite without
    content words.

    Args:
        rewrite: the rewrite.
        question: in the user's own words.
        said: the stems of the history's content words.
    """
    stems = find_part_stems(rewrite)
    asked = find_part_stems(question)
    return sum(stem in asked or stem in said for stem in stems) / len(stems) if stems else 1.0


def read_stems(history: Sequence[Turn]) -> frozenset[str]:
    """The stems of the content words of all questions and answers."""
    return frozenset().union(*(find_part_stems(text) for turn in history for text in (turn.question, turn.answer)))


def find_part_stems(text: str) -> frozenset[str]:
    """The different stems of a text's content words; each part of a compound is a word."""
    return find_stems(split_compounds(text))


def normalise_question(question: str) -> str:
    """A question in lower case, without extra spaces and punctuation around words; "C++" keeps its own."""
    kept = filter(None, (word.strip(_EDGES) for word in question.casefold().split()))
    return " ".join(kept) or question.strip()
