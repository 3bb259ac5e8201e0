"""Task "nuggets" without a language model: the passage, with tags around the sentences that match the question.

A sentence matches if it covers enough of the question's weight, in which rare words count more. It goes on about what
was named before it: words of the title and of the sentence before count for half.
"""

from __future__ import annotations

from convrag.sdk.sentences import sentence_spans
from convrag_offline.answering import FEWEST_WORDS
from convrag_offline.document_frequencies import Frequencies
from convrag_offline.tokens import content_words
from convrag_offline.weighing import weights

OPEN, CLOSE = "<IN>", "</IN>"

PART = 1 / 3
"""Share of the question's weight: a question names about three things, and a nugget may answer a part."""

NEARBY = 0.5
"""What a word counts for that stands only near a sentence."""


def nuggets(question: str, passage: str, frequencies: Frequencies, title: str = "") -> str:
    """A copy of the passage, tagged."""
    weight = weights(_stems(question), frequencies)
    total = sum(weight.values())
    named = _stems(title)
    before: set[str] = set()
    copied: list[str] = []
    position = 0
    for start, end in sentence_spans(passage):
        text = passage[start:end]
        own = _stems(text) & weight.keys()
        near = ((named | before) & weight.keys()) - own
        worth = sum(weight[stem] for stem in sorted(own)) + NEARBY * sum(weight[stem] for stem in sorted(near))
        if own and worth >= PART * total and len(text.split()) >= FEWEST_WORDS:
            copied += [passage[position:start], OPEN, text, CLOSE]
            position = end
        before = own
    return "".join([*copied, passage[position:]])


def _stems(text: str) -> set[str]:
    return {word.stem for word in content_words(text)}
