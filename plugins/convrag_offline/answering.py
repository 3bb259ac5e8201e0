"""Task "answer" without a language model: quote the sentences of the evidence that match the question.

A sentence's worth is the share of the question's weight that it covers; a word weighs more if fewer passages of the
corpus have it. A question that refers back is matched together with the words that a rewrite would add.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from convrag.sdk.sentences import sentences
from convrag_offline.document_frequencies import Frequencies
from convrag_offline.rewriting import Exchange, lacking_words
from convrag_offline.tokens import content_words

NOT_FOUND = "I could not find this in the passages."
"""The answer where no sentence matches."""

MOST = 3
"""Sentences of an answer."""

MATCH = 0.5
"""Share of the question's weight that a sentence must cover: less than half of a question is another question."""

FEWEST_WORDS = 4
"""Words of a sentence; what is shorter is a heading."""


class _Sentence(NamedTuple):
    number: int
    place: int
    text: str
    stems: frozenset[str]


def answer(
    question: str, history: Sequence[Exchange], evidence: Sequence[Mapping[str, Any]], frequencies: Frequencies
) -> str:
    """Up to three sentences in the order of the passages, each with its citation, or NOT_FOUND."""
    wanted = {word.stem for word in content_words(question)}
    for text in lacking_words(question, history, frequencies):
        wanted.update(word.stem for word in content_words(text))
    found = _matching(evidence, wanted)
    weights = _weights(wanted, frequencies)
    chosen = _choose(found, weights)
    return " ".join(f"{sentence.text} [{sentence.number}]" for sentence in sorted(chosen)) or NOT_FOUND


def _matching(evidence: Sequence[Mapping[str, Any]], wanted: set[str]) -> list[_Sentence]:
    """The distinct sentences that have a word of the question."""
    found: dict[str, _Sentence] = {}
    for item in evidence:
        if wanted.isdisjoint(word.stem for word in content_words(item["text"])):
            continue
        for place, text in enumerate(sentences(item["text"])):
            stems = frozenset(word.stem for word in content_words(text)) & wanted
            if stems and len(text.split()) >= FEWEST_WORDS and text != item.get("title"):
                found.setdefault(text, _Sentence(int(item["number"]), place, text, stems))
    return list(found.values())


def _weights(wanted: set[str], frequencies: Frequencies) -> dict[str, float]:
    """What each word of the question weighs. One that the corpus lacks is as rare as can be: missing it counts."""
    rarest = math.log(frequencies.passages + 1) or 1.0
    return {stem: frequencies.idf(stem) or rarest for stem in sorted(wanted)}


def _choose(found: Sequence[_Sentence], weights: Mapping[str, float]) -> list[_Sentence]:
    """The best sentence, and those that come near it: most weight first, then the earlier passage."""
    total = sum(weights.values())
    worth = {sentence.text: sum(weights[stem] for stem in sorted(sentence.stems)) for sentence in found}
    ranked = sorted(found, key=lambda sentence: (-worth[sentence.text], sentence.number, sentence.place))
    if not ranked or worth[ranked[0].text] < MATCH * total:
        return []
    least = max(MATCH * total, 0.75 * worth[ranked[0].text])
    return [sentence for sentence in ranked[:MOST] if worth[sentence.text] >= least]
