"""The statements of an answer, each with the numbers of the passages that it cites."""

from collections.abc import Iterator
from typing import NamedTuple

from convrag.sdk.citations import CitationMark, find_citations
from convrag.sdk.sentences import find_sentence_spans

__all__ = ["LIBRARIES", "CitedStatement", "find_cited_statements"]

LIBRARIES = ("pysbd",)
"""Their versions are part of the fingerprints of stages that use this module."""


class CitedStatement(NamedTuple):
    """A sentence of an answer with the citations behind it.

    Args:
        start: of the sentence, in characters of the answer.
        end: the character after its last one, before the marks.
        numbers: those that the marks cite.
    """

    start: int
    end: int
    numbers: tuple[int, ...]


def find_cited_statements(text: str) -> Iterator[CitedStatement]:
    """Find the sentence that each citation stands behind; a mark behind the full stop belongs to the sentence before.

    "Dogs bark. [1] Cats [2] do not [3]." has "Dogs bark." with 1, "Cats" with 2 and "do not" with 3. Marks that stand
    together are one citation: "Dogs bark. [1][2]" has one statement with 1 and 2.
    """
    statement: tuple[int, int] | None = None
    numbers: list[int] = []
    place = 0
    for mark in find_citations(text):
        if (found := _find_last_sentence(text, place, mark)) is not None:
            if statement and numbers:
                yield CitedStatement(*statement, tuple(dict.fromkeys(numbers)))
            statement, numbers = found, []
        numbers += mark.numbers
        place = mark.end
    if statement and numbers:
        yield CitedStatement(*statement, tuple(dict.fromkeys(numbers)))


def _find_last_sentence(text: str, start: int, mark: CitationMark) -> tuple[int, int] | None:
    """The last sentence before a mark; None where there is no letter or digit between it and the mark before."""
    part = text[start : mark.start]
    skipped = len(part) - len(part.lstrip(".!?,;: \t\r\n"))
    if not any(character.isalnum() for character in part):
        return None
    first, last = find_sentence_spans(part[skipped:])[-1]
    return start + skipped + first, start + skipped + last
