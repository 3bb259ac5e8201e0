"""How long an answer may be, and how to make a text fit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from convrag import ConfigError
from convrag.sdk.sentences import sentence_spans
from convrag_ginger.citing import CITATIONS

WORDS_ONLY = 100
"""The limit in sentences that stands for a limit in words alone (GINGER's convention)."""

_MOST_WORDS = 400
_CLAUSE_END = re.compile(r"[,;:](?=\s)")


class Length(NamedTuple):
    """The most sentences and words of an answer; citations are no words."""

    sentences: int
    words: int

    @classmethod
    def of(cls, limit: int, words: int) -> Length:
        """`limit` sentences of `words` words; but 100 is 400 words, however many sentences. Raises ConfigError."""
        if limit < 1 or words < 1:
            raise ConfigError(f"generator.res_length_limit={limit} and generator.words={words} must be at least 1")
        return cls(limit, _MOST_WORDS if limit == WORDS_ONLY else limit * words)

    def cut(self, text: str) -> str:
        """The first sentences of a text that fit; of a first one that does not, its beginning.

        A citation stands for all that comes before it since the last one: where it is cut off, what is kept keeps it.
        """
        sentences = _cited_sentences(text)
        kept: list[str] = []
        for sentence in sentences:
            if len(kept) == self.sentences or word_count([*kept, sentence]) > self.words:
                break
            kept.append(sentence)
        rest = " ".join(sentences[len(kept) :])
        if sentences and not kept:
            kept = [clipped(CITATIONS.sub(" ", sentences[0]), self.words)]
        if kept and not CITATIONS.search(kept[-1]) and (following := CITATIONS.search(rest)):
            kept[-1] += f" {following[0].strip()}"
        return joined(kept)


def word_count(sentences: Iterable[str]) -> int:
    """The number of words, separated by white space, without citations."""
    return sum(len(CITATIONS.sub(" ", sentence).split()) for sentence in sentences)


def clipped(text: str, words: int) -> str:
    """The beginning of a text on one line: at most so many words, up to the end of a clause if that keeps half."""
    tokens = text.split()
    if len(tokens) <= words:
        return " ".join(tokens)
    beginning = " ".join(tokens[:words])
    ends = [mark.start() for mark in _CLAUSE_END.finditer(f"{beginning} ")]
    if ends and len(beginning[: ends[-1]].split()) * 2 >= words:
        beginning = beginning[: ends[-1]]
    return beginning.rstrip(",;: ")


def joined(sentences: Iterable[str]) -> str:
    """Sentences as one text; one that ends without a mark, such as an item of a list, ends with its line."""
    text = ""
    for sentence in sentences:
        before = CITATIONS.sub("", text).rstrip("\"'”’) ")
        text += ("" if not text else " " if before.endswith((".", "!", "?", "…", "。")) else "\n") + sentence
    return text


def _cited_sentences(text: str) -> list[str]:
    """The sentences of a text; citations at the beginning of one belong to the one before."""
    found: list[str] = []
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        cited = CITATIONS.match(sentence)
        if cited and found:
            found[-1] += f" {cited[0].strip()}"
            sentence = sentence[cited.end() :].strip()
        if sentence:
            found.append(sentence)
    return found
