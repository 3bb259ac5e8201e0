"""The sentences of an answer, and the passages that each of them cites by number."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from convrag.sdk.sentences import CERTAIN_GAP, READ_IN_FULL, segment_line
from convrag_metrics.record_texts import CODE_OR_CITATION, strip_citations

_LEADING_MARK = re.compile(r"^(?:\s*\[\s*\d{1,3}(?:\s*[,;]\s*\d{1,3})*\s*\])+[.,;:]?")
_LIST_MARKER = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s*$")
_END = re.compile(r"[.!?]")
# An end after a word that is too long for an abbreviation, before a capital or a citation, or at the end of the text.
_CERTAIN_END = re.compile(r"(?<=[a-z]{4})[.!?](?=\s+[A-Z\[]|\s*$)")


class CitedSentence(NamedTuple):
    """A sentence without its citation marks, and the numbers that they name, in order."""

    text: str
    citations: tuple[int, ...]


def split_cited_sentences(answer: str) -> list[CitedSentence]:
    """The sentences of an answer that have a letter. A mark after a full stop belongs to the sentence before it."""
    parts: list[str] = []
    for part in segment_sentences(answer):
        if parts and (mark := _LEADING_MARK.match(part)):
            parts[-1] += mark[0]
            part = part[mark.end() :]
        if parts and _LIST_MARKER.match(parts[-1]):
            part = f"{parts.pop()} {part}"
        if part.strip():
            parts.append(part)
    sentences = (CitedSentence(strip_citations(part), find_citations(part)) for part in parts)
    return [sentence for sentence in sentences if any(character.isalpha() for character in sentence.text)]


def find_citations(text: str) -> tuple[int, ...]:
    """The numbers that a text's citation marks name; code has no marks."""
    marks = (found["numbers"] for found in CODE_OR_CITATION.finditer(text) if found["numbers"])
    return tuple(int(number) for mark in marks for number in re.findall(r"\d+", mark))


def segment_sentences(text: str) -> Iterator[str]:
    """Sentences by pysbd's rules for English; a line break ends a sentence too.

    pysbd is slow, and is called only for the text between two ends that are certain.
    """
    for line in filter(str.strip, text.splitlines()):
        for part in _join_unclosed(CERTAIN_GAP.split(line)):
            certain = len(_END.findall(part)) == len(_CERTAIN_END.findall(part))
            yield from [part] if certain else segment_line(part, fast=len(text) > READ_IN_FULL)


def _join_unclosed(parts: Iterable[str]) -> Iterator[str]:
    """Join parts until no bracket or quotation is open: an end within one does not end the sentence."""
    held: list[str] = []
    counts: Counter[str] = Counter()
    for part in parts:
        held.append(part)
        counts.update({mark: part.count(mark) for mark in '()"“”'})
        if counts["("] <= counts[")"] and counts['"'] % 2 == 0 and counts["“"] <= counts["”"]:
            yield " ".join(held)
            held.clear()
            counts.clear()
    if held:
        yield " ".join(held)
