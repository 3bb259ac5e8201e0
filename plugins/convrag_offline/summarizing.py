"""Task "summarize" without a language model: quote the sentence of the nuggets that covers most of the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from convrag.sdk.clauses import shorten_by_clauses
from convrag.sdk.sentences import split_sentences
from convrag.sdk.words import find_stems
from convrag_offline.document_frequencies import DocumentFrequencies, add_weights

_END_MARKS = (".", "!", "?", "…")


class _Quote(NamedTuple):
    text: str
    complete: bool
    has_end_mark: bool
    score: float
    content_words: int
    position: int


def summarize(question: str, nuggets: Sequence[str], words: int, frequencies: DocumentFrequencies) -> str:
    """A sentence of a nugget, of at most `words` words; the first clauses of one only where none is that short.

    It is empty where all sentences are longer, and none can be shortened by whole clauses.
    A sentence with an end mark is better than a heading or an item of a list. Then counts how much of the question it
    covers, then the number of its content words, then which comes first.
    """
    weights = frequencies.weigh_question(find_stems(question))
    found = dict.fromkeys(sentence for nugget in nuggets for sentence in split_sentences(nugget))
    quotes = [quote for n, text in enumerate(found) if (quote := _quote(text, words, weights, n)).text]
    quotes.sort(key=lambda q: (-q.complete, -q.has_end_mark, -q.score, -q.content_words, q.position))
    return quotes[0].text if quotes else ""


def _quote(sentence: str, words: int, weights: dict[str, float], position: int) -> _Quote:
    text = shorten_by_clauses(sentence, words)
    stems = find_stems(text)
    has_end_mark = text.rstrip("\"'”’) ").endswith(_END_MARKS)
    return _Quote(text, text == sentence, has_end_mark, add_weights(stems, weights), len(stems), position)
