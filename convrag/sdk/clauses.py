"""Shortens an English sentence by whole clauses, so that no list is cut and no clause is left half."""

import re
from collections.abc import Iterator

__all__ = ["shorten_by_clauses"]

_ASIDE = re.compile(r"\s*\([^()]*\)")
_MARK = re.compile(r"[,;](?=\s)|\s+[-–—]+(?=\s)")
_SUBORDINATE = re.compile(
    r"\s*(?:which|who|whose|whom|where|when|while|whereas|although|though|because|since|so that|such that|even "
    r"(?:if|though)|unless|in which|of which)\b",
    re.IGNORECASE,
)
_ADVERSATIVE = re.compile(r"\s*(?:but|so|yet)\b", re.IGNORECASE)
_COORDINATE = re.compile(r"\s*(?:and|or|nor)\b", re.IGNORECASE)  # may also stand before the last item of a list
_RELATIVE = re.compile(r"\b(?:who|which|that|whose|where)\b", re.IGNORECASE)
_INTRODUCTION = re.compile(
    r"\W*(?:after|although|as|at|because|before|by|despite|during|even|for|from|if|in|like|of|on|once|since|though|to|"
    r"under|unless|unlike|until|when|where|whereas|whether|while|with|within|without)\b",
    re.IGNORECASE,
)
_FINITE_VERB = re.compile(
    r"\b(?:am|is|are|was|were|has|have|had|does|do|did|can|cannot|could|will|would|shall|should|may|might|must|became|"
    r"becomes|began|came|gave|gives|makes|made|means|said|says|took|went|won|wrote)\b|\w(?:n't|n’t)\b",
    re.IGNORECASE,
)
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("``", "''"))


def shorten_by_clauses(sentence: str, words: int) -> str:
    """Return a sentence of at most `words` words: the sentence, or what is left without its asides and last clauses.

    "The museum (in Rome) is old, although it was rebuilt." becomes "The museum is old." A comma counts as the end of a
    clause only where a clause with a verb goes before and a clause goes after: a comma in a list never does, nor one
    after an introduction, nor one before a clause in the middle of another. Where in doubt, nothing is cut.

    Returns:
        The text on one line; empty if the sentence is too long, and cannot be shortened by whole clauses.
    """
    text = " ".join(sentence.split())
    if len(text.split()) <= words:
        return text
    text = _ASIDE.sub("", text)
    if len(text.split()) <= words:
        return text
    fitting = [text[:end] for end in _find_clause_ends(text) if len(text[:end].split()) <= words]
    return f"{fitting[-1].rstrip()}." if fitting else ""


def _find_clause_ends(text: str) -> Iterator[int]:
    """Yield the offsets at which a main clause is complete and another clause begins, in order."""
    marks = [mark.span() for mark in _MARK.finditer(text)]
    introduced = _INTRODUCTION.match(text) is not None
    listed = False  # whether a comma that ends no clause stands before, as in a list
    for index, (start, end) in enumerate(marks):
        following = text[end : marks[index + 1][0] if index + 1 < len(marks) else len(text)]
        main = text[marks[0][1] :] if introduced else text
        before = main[: start - (len(text) - len(main))] if index or not introduced else ""
        if _ends_clause(text[start], following, listed) and _is_clause(before) and _is_closed(text[:start]):
            yield start
        elif index or not introduced:
            listed = True


def _ends_clause(mark: str, following: str, listed: bool) -> bool:
    """Whether a clause begins after a mark: by its first word, or by a verb of its own after "and" or a semicolon."""
    if mark != ";" and _SUBORDINATE.match(following):
        return True
    joined = _ADVERSATIVE.match(following) or (not listed and _COORDINATE.match(following))
    return bool(mark == ";" or joined) and _FINITE_VERB.search(following) is not None


def _is_clause(text: str) -> bool:
    """Whether a text has a finite verb of its own: one more than its relative clauses need."""
    return len(_FINITE_VERB.findall(text)) > len(_RELATIVE.findall(text))


def _is_closed(text: str) -> bool:
    """Whether every bracket and quotation mark that is opened is closed, and no colon has announced a list."""
    return all(text.count(a) == text.count(b) for a, b in _PAIRS) and text.count('"') % 2 == 0 and ": " not in text
