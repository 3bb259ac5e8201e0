"""An answer's sentences, each with the citations that it carries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from convrag_metrics.texts import CODE_OR_CITATION, without_citations

_LEADING = re.compile(r"^(?:\s*\[\s*\d{1,3}(?:\s*[,;]\s*\d{1,3})*\s*\])+[.,;:]?")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s*$")
_END = re.compile(r"[.!?]")
# A mark after a word that is too long for an abbreviation, before a capital or a citation, or at the end.
_PLAIN = r"(?<=[a-z]{4})[.!?](?=\s+[A-Z\[]|\s*$)"
_PLAIN_END = re.compile(_PLAIN)
_PLAIN_GAP = re.compile(r"(?<=[a-z]{4}[.!?])\s+(?=[A-Z\[])")


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
    """By pysbd's rules for English; a line break ends a sentence too.

    pysbd is slow, and is asked only about what lies between two ends that are beyond doubt.
    """
    for line in filter(str.strip, text.splitlines()):
        for part in _closed(_PLAIN_GAP.split(line)):
            yield from [part] if len(_END.findall(part)) == len(_PLAIN_END.findall(part)) else _segmented(part)


def _closed(parts: Iterable[str]) -> Iterator[str]:
    """Parts put together again until no bracket or quotation is open: what is within one is no end."""
    held = ""
    for part in parts:
        held = f"{held} {part}" if held else part
        if held.count("(") <= held.count(")") and held.count('"') % 2 == 0 and held.count("“") <= held.count("”"):
            yield held
            held = ""
    if held:
        yield held


def _segmented(line: str) -> list[str]:
    from pysbd import Segmenter

    segmenter = Segmenter(language="en", clean=False)  # it keeps the text that it works on: one for each call
    return [str(part) for part in segmenter.segment(line)]
