"""Task "summarize" without a language model: quote the sentence of the nuggets that covers most of the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from convrag.sdk.sentences import split_sentences
from convrag_offline.document_frequencies import DocumentFrequencies
from convrag_offline.tokens import stem_content_words

_CLAUSE_END = re.compile(r"[,;:](?=\s)")
_END_MARKS = (".", "!", "?", "…")


class _Quote(NamedTuple):
    text: str
    complete: bool
    has_end_mark: bool
    score: float
    content_words: int
    position: int


def summarize(question: str, nuggets: Sequence[str], words: int, frequencies: DocumentFrequencies) -> str:
    """A sentence of a nugget, of at most `words` words; the beginning of one only where none is that short.

    A sentence with an end mark is better than a heading or an item of a list. Then counts how much of the question it
    covers, then the number of its content words, then which comes first.
    """
    weights = frequencies.weigh_question(stem_content_words(question))
    found = dict.fromkeys(sentence for nugget in nuggets for sentence in split_sentences(nugget))
    quotes = [_quote(text, words, weights, position) for position, text in enumerate(found)]
    quotes.sort(key=lambda q: (-q.complete, -q.has_end_mark, -q.score, -q.content_words, q.position))
    return quotes[0].text if quotes else ""


def _quote(sentence: str, words: int, weights: dict[str, float], position: int) -> _Quote:
    text = _truncate(sentence, words)
    stems = stem_content_words(text)
    score = sum(weights[stem] for stem in sorted(stems & weights.keys()))
    return _Quote(text, text == sentence, text.rstrip("\"'”’) ").endswith(_END_MARKS), score, len(stems), position)


def _truncate(sentence: str, words: int) -> str:
    """The sentence, cut to `words` words; to the end of a clause, if at least half of the limit is left."""
    tokens = sentence.split()
    if len(tokens) <= words:
        return sentence
    text = " ".join(tokens[:words])
    ends = [mark.start() for mark in _CLAUSE_END.finditer(f"{text} ")]
    if ends and 2 * len(text[: ends[-1]].split()) >= words:
        text = text[: ends[-1]]
    return text.rstrip(",;: ")
