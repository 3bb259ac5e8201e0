"""How long an answer may be, and how texts are counted, truncated and joined. Citations are not counted as words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from convrag import ConfigError
from convrag.sdk.sentences import find_sentence_spans, shorten_by_clauses

WORDS_ONLY = 100
"""The limit in sentences that stands for a limit in words alone (GINGER's convention)."""

_MOST_WORDS = 400
_CITATIONS = r"\s*(?:\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]\s*)+"  # one or more, with the white space around them
_LEADING_CITATIONS = re.compile(_CITATIONS)
# Inline code is matched first and left alone, as in convrag.sdk.citations: `items[0]` holds no citation.
_CODE_OR_CITATIONS = re.compile(rf"`[^`\n]*`|(?P<citations>{_CITATIONS})")


class LengthLimit(NamedTuple):
    """The most sentences and words of an answer."""

    sentences: int
    words: int

    @classmethod
    def of(cls, limit: int, words: int) -> LengthLimit:
        """`limit` sentences of `words` words on average; a limit of 100 is 400 words, in any number of sentences.

        Raises ConfigError where either is below 1.
        """
        if limit < 1 or words < 1:
            raise ConfigError(f"generator.res_length_limit={limit} and generator.words={words} must be at least 1")
        return cls(limit, _MOST_WORDS if limit == WORDS_ONLY else limit * words)

    def truncate_answer(self, text: str) -> str:
        """The first sentences of a text that fit the limit; if the first one is too long, its first clauses.

        Where the first sentence cannot be shortened by whole clauses either, the first sentence that fits is kept.

        A citation covers all sentences since the one before it. Where it would be cut off, it is moved to the last
        sentence that is kept.
        """
        sentences = _split_sentences(text)
        kept: list[str] = []
        for sentence in sentences:
            if len(kept) == self.sentences or count_words([*kept, sentence]) > self.words:
                break
            kept.append(sentence)
        rest = " ".join(sentences[len(kept) :])
        if sentences and not kept:
            shortened = (shorten_by_clauses(_remove_citations(text, " "), self.words) for text in sentences)
            first, text = next(((n, text) for n, text in enumerate(shortened) if text), (0, ""))
            kept, rest = [text] if text else [], " ".join(sentences[first:])
        if kept and not _find_citations(kept[-1]) and (following := _find_citations(rest)):
            kept[-1] += f" {following}"
        return join_sentences(kept)


def count_words(sentences: Iterable[str]) -> int:
    """The number of words, separated by white space."""
    return sum(len(_remove_citations(sentence, " ").split()) for sentence in sentences)


def cut_to_words(text: str, words: int) -> str:
    """The first words of a text, without citations."""
    return " ".join(_remove_citations(text, " ").split()[:words])


def join_sentences(sentences: Iterable[str]) -> str:
    """Sentences as one text, separated by spaces; by a line break after one without an end mark, as in a list."""
    text = ""
    for sentence in sentences:
        before = _remove_citations(text, "").rstrip("\"'”’) ")
        text += ("" if not text else " " if before.endswith((".", "!", "?", "…", "。")) else "\n") + sentence
    return text


def _split_sentences(text: str) -> list[str]:
    """The sentences of a text; citations at the beginning of one belong to the one before."""
    found: list[str] = []
    for start, end in find_sentence_spans(text):
        sentence = text[start:end]
        cited = _LEADING_CITATIONS.match(sentence)
        if cited and found:
            found[-1] += f" {cited[0].strip()}"
            sentence = sentence[cited.end() :].strip()
        if sentence:
            found.append(sentence)
    return found


def _find_citations(text: str) -> str:
    """The first citations of a text that stand together, without white space around them; maybe none."""
    matches = (match["citations"] for match in _CODE_OR_CITATIONS.finditer(text))
    return next((citations.strip() for citations in matches if citations), "")


def _remove_citations(text: str, replacement: str) -> str:
    """A text with a replacement for its citations and the white space around them."""
    return _CODE_OR_CITATIONS.sub(lambda match: replacement if match["citations"] else match[0], text)
