"""Task "summarize" without a language model: the sentence of the nuggets that says most of what was asked, quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from convrag.sdk.sentences import sentences
from convrag_offline.document_frequencies import Frequencies
from convrag_offline.tokens import content_words
from convrag_offline.weighing import weights

_CLAUSE_END = re.compile(r"[,;:](?=\s)")
_FINISHED = (".", "!", "?", "…")


class _Quote(NamedTuple):
    text: str
    whole: bool
    finished: bool
    worth: float
    content: int
    place: int


def summarize(question: str, nuggets: Sequence[str], words: int, frequencies: Frequencies) -> str:
    """A sentence of at most `words` words that stands in a nugget; the beginning of one only where none is that short.

    What ends like a sentence goes before headings and items of lists; then counts how much of the question it covers,
    then how much else it says; the earlier one wins.
    """
    weight = weights({word.stem for word in content_words(question)}, frequencies)
    found = dict.fromkeys(sentence for nugget in nuggets for sentence in sentences(nugget))
    quotes = [_quote(text, words, weight, place) for place, text in enumerate(found)]
    quotes.sort(key=lambda quote: (-quote.whole, -quote.finished, -quote.worth, -quote.content, quote.place))
    return quotes[0].text if quotes else ""


def _quote(sentence: str, most: int, weight: dict[str, float], place: int) -> _Quote:
    text = _beginning(sentence, most)
    stems = {word.stem for word in content_words(text)}
    worth = sum(weight[stem] for stem in sorted(stems & weight.keys()))
    return _Quote(text, text == sentence, text.rstrip("\"'”’) ").endswith(_FINISHED), worth, len(stems), place)


def _beginning(sentence: str, most: int) -> str:
    """The sentence, or as much of it as the limit allows: up to the end of a clause, if that keeps half."""
    tokens = sentence.split()
    if len(tokens) <= most:
        return sentence
    text = " ".join(tokens[:most])
    ends = [mark.start() for mark in _CLAUSE_END.finditer(f"{text} ")]
    if ends and 2 * len(text[: ends[-1]].split()) >= most:
        text = text[: ends[-1]]
    return text.rstrip(",;: ")
