"""Shortens an English sentence by whole clauses.

A quotation or a summary that is too long loses its asides and last clauses; one that cannot be
shortened so is left to the caller, since a sentence that is cut elsewhere says something else.
"""

import re
from collections.abc import Iterator

from convrag.sdk.text.tokens import count_words

_ASIDE = re.compile(r"\s*\([^()]*\)")
_MARK = re.compile(r"[,;](?=\s)|\s+[-–—]+(?=\s)")
_SUBORDINATE = re.compile(
    r"\s*(?:which|who|whose|whom|where|when|while|whereas|although|though|because|since|so that"
    r"|such that|even (?:if|though)|unless|in which|of which)\b",
    re.IGNORECASE,
)
_ADVERSATIVE = re.compile(r"\s*(?:but|so|yet)\b", re.IGNORECASE)
_COORDINATE = re.compile(r"\s*(?:and|or|nor)\b", re.IGNORECASE)
"""May also precede the last item of a list."""

_RELATIVE = re.compile(r"\b(?:who|which|that|whose|where)\b", re.IGNORECASE)
_INTRODUCTION = re.compile(
    r"\W*(?:after|although|as|at|because|before|by|despite|during|even|for|from|if|in|like|of|on"
    r"|once|since|though|to|under|unless|unlike|until|when|where|whereas|whether|while|with|within"
    r"|without)\b",
    re.IGNORECASE,
)
_FINITE_VERB = re.compile(
    r"\b(?:am|is|are|was|were|has|have|had|does|do|did|can|cannot|could|will|would|shall|should|may"
    r"|might|must|became|becomes|began|came|gave|gives|makes|made|means|said|says|took|went|won"
    r"|wrote)\b|\w(?:n't|n’t)\b",
    re.IGNORECASE,
)
"""Verbs that make an English clause one; a clause with another verb is not cut."""

_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("``", "''"))


def shorten_by_clauses(sentence: str, words: int) -> str:
    """Shorten a sentence to at most `words` words by leaving out asides and last clauses.

    "The museum (in Rome) is old, although it was rebuilt." becomes "The museum is old." A comma
    counts as the end of a clause only where a clause with a verb goes before and a clause goes
    after: a comma in a list never does, nor one after an introduction, nor one before a clause in
    the middle of another. Where in doubt, nothing is cut.

    Returns:
        The text on one line; empty if the sentence is too long, and cannot be shortened by whole
        clauses.
    """
    text = " ".join(sentence.split())
    if count_words(text) <= words:
        return text
    text = _ASIDE.sub("", text)
    if count_words(text) <= words:
        return text
    beginnings = [text[:end] for end in _find_clause_ends(text)]
    fitting = [beginning for beginning in beginnings if count_words(beginning) <= words]
    return f"{fitting[-1].rstrip()}." if fitting else ""


def _find_clause_ends(text: str) -> Iterator[int]:
    """Yield the offsets at which a main clause is complete and another clause begins, in order."""
    marks = [mark.span() for mark in _MARK.finditer(text)]
    begin = 0  # of the main clause
    if marks and _INTRODUCTION.match(text):
        begin = marks.pop(0)[1]
    next_marks = [start for start, _ in marks[1:]] + [len(text)]
    in_list = False  # whether an earlier comma ended no clause, as in a list
    for (start, end), next_mark in zip(marks, next_marks, strict=False):
        ends = _ends_clause(text[start], text[end:next_mark], in_list)
        if ends and _is_clause(text[begin:start]) and _is_closed(text[:start]):
            yield start
        else:
            in_list = True


def _ends_clause(mark: str, following: str, in_list: bool) -> bool:
    """Tell whether a clause begins after a mark.

    Its first word tells, or else a verb of its own after "and" or a semicolon.
    """
    if mark != ";" and _SUBORDINATE.match(following):
        return True
    joined = _ADVERSATIVE.match(following) or (not in_list and _COORDINATE.match(following))
    if mark != ";" and not joined:
        return False
    return _FINITE_VERB.search(following) is not None


def _is_clause(text: str) -> bool:
    """Tell whether a text has a finite verb of its own: one more than its relative clauses need."""
    return len(_FINITE_VERB.findall(text)) > len(_RELATIVE.findall(text))


def _is_closed(text: str) -> bool:
    """Tell whether brackets and quotation marks are closed, and no colon has announced a list."""
    if ": " in text or text.count('"') % 2:
        return False
    return all(text.count(opening) == text.count(closing) for opening, closing in _PAIRS)
