"""Tasks "nuggets" and "summarize" without a language model: sentences with the query's words.

A sentence covers a share of the question, in which rare words count more, and the words of the
title and of the heading above count too (`convrag.sdk.text.windows`).
"""

from collections.abc import Sequence
from typing import NamedTuple

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.clauses import shorten_by_clauses
from convrag.sdk.text.overlap import compute_share, weigh_query
from convrag.sdk.text.sentences import split_sentences
from convrag.sdk.text.windows import Source, select_sentences

OPENING_TAG, CLOSING_TAG = "<IN>", "</IN>"

_END_MARKS = (".", "!", "?", "…")


def tag_nuggets(
    question: str, passage: str, frequencies: DocumentFrequencies, title: str = ""
) -> str:
    """Do task "nuggets": copy a passage with tags around the sentences that match the question.

    detector=sentences takes the same ones, but here rare words weigh more.
    """
    copied: list[str] = []
    position = 0
    for sentence in select_sentences(Source(passage, title), weigh_query(question, frequencies)):
        copied += [passage[position : sentence.start], OPENING_TAG]
        copied += [passage[sentence.start : sentence.end], CLOSING_TAG]
        position = sentence.end
    return "".join([*copied, passage[position:]])


class _Quote(NamedTuple):
    """A sentence of a nugget that may be quoted; the better one of two is the greater tuple."""

    is_whole: bool
    has_end_mark: bool
    share: float
    content_words: int


def summarize(
    question: str, nuggets: Sequence[str], words: int, frequencies: DocumentFrequencies
) -> str:
    """Do task "summarize": quote a sentence of the nuggets that has at most `words` words.

    Where all are longer, the first clauses of one are quoted; where none can be shortened by whole
    clauses, nothing is. A sentence with an end mark is better than a heading or an item of a list.
    The next criteria are the share of the question that it covers, the number of its content words,
    and its place.
    """
    weights = weigh_query(question, frequencies)
    quotes: dict[str, _Quote] = {}
    for nugget in nuggets:
        for sentence in split_sentences(nugget):
            text = shorten_by_clauses(sentence, words)
            if text and text not in quotes:
                has_end_mark = text.rstrip("\"'”’) ").endswith(_END_MARKS)
                quotes[text] = _Quote(
                    text == sentence,
                    has_end_mark,
                    compute_share(text, weights),
                    len(find_stems(text)),
                )
    return max(quotes, key=quotes.__getitem__, default="")
