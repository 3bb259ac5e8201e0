"""An answer's sentences, each with the citations that it carries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from convrag_metrics.texts import CODE_OR_CITATION, without_citations

_LEADING = re.compile(r"^(?:\s*\[\s*\d{1,3}(?:\s*[,;]\s*\d{1,3})*\s*\])+[.,;:]?")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s*$")


class Claim(NamedTuple):
    """A sentence without its marks, and the numbers that they name, in order."""

    text: str
    cited: tuple[int, ...]


def claims(answer: str) -> list[Claim]:
    """The sentences of an answer that say something. A mark after a full stop belongs to the sentence before it."""
    parts: list[str] = []
    for part in _sentences(answer):
        if parts and (mark := _LEADING.match(part)):
            parts[-1] += mark[0]
            part = part[mark.end() :]
        if parts and _ITEM.match(parts[-1]):
            part = f"{parts.pop()} {part}"
        if part.strip():
            parts.append(part)
    found = (Claim(without_citations(part), cited_numbers(part)) for part in parts)
    return [claim for claim in found if any(character.isalpha() for character in claim.text)]


def cited_numbers(text: str) -> tuple[int, ...]:
    """The numbers that a text's marks name; code names none."""
    marks = (found["numbers"] for found in CODE_OR_CITATION.finditer(text) if found["numbers"])
    return tuple(int(number) for mark in marks for number in re.findall(r"\d+", mark))


def _sentences(text: str) -> Iterator[str]:
    """By pysbd's rules for English; a line break ends a sentence too."""
    from pysbd import Segmenter

    segmenter = Segmenter(language="en", clean=False)  # it keeps the text that it works on: one for each call
    for line in filter(str.strip, text.splitlines()):
        yield from map(str, segmenter.segment(line))
