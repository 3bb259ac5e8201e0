"""Answers, and the passages that support them. All of it is immutable plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """A part of a passage.

    Args:
        passage_id: the id of the passage.
        start: the first character of the part in `passage.text`, from 0.
        end: the character after its last one.

    Example:
        >>> PassageSpan("tea-2", 23, 43).end
        43
    """

    passage_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Support:
    """A statement of an answer, and the parts of passages that it rests on.

    Args:
        start: the first character of the statement in `answer.text`, from 0.
        end: the character after its last one.
        spans: the parts of passages.

    Example:
        >>> support = Support(0, 20, (PassageSpan("tea-2", 23, 43),))
        >>> Answer("About eighty degrees [1].", ("tea-2",), support=(support,)).find_spans("tea-2")
        [(23, 43)]
    """

    start: int
    end: int
    spans: tuple[PassageSpan, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The assistant's answer.

    Args:
        text: the answer; it may cite the evidence by number, as in "About eighty degrees [1]."
        citations: ids of passages in the evidence, in order of first mention.
        trace: how it was made, as plain data, for the record. Its `fallback` says why the generator
            could not do its work as chosen.
        support: the parts of passages that its statements rest on, if the generator knows them.
            They are marked where the answer is shown; in passages that are not named here, the
            sentences with the same words are.

    Example:
        >>> Answer("About eighty degrees [1].", ("tea-2",)).citations
        ('tea-2',)
    """

    text: str
    citations: tuple[str, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)
    support: tuple[Support, ...] = ()

    def find_spans(self, passage_id: str) -> list[tuple[int, int]]:
        """Find the parts of a passage that the answer rests on, as (start, end), in order."""
        spans = (span for support in self.support for span in support.spans)
        return sorted({(span.start, span.end) for span in spans if span.passage_id == passage_id})
