"""Task "nuggets" without a language model: the passage, with tags around the sentences that match the question.

A sentence matches if it covers enough of the question's weight, in which rare words count more. Words of the title and
of the sentence before count for half, since a sentence often continues what was named there.
"""

from __future__ import annotations

from convrag.sdk.sentences import find_sentence_spans
from convrag_offline.answering import MIN_WORDS
from convrag_offline.document_frequencies import DocumentFrequencies
from convrag_offline.tokens import stem_content_words

OPENING_TAG, CLOSING_TAG = "<IN>", "</IN>"

_MIN_SHARE = 1 / 3  # of the question's weight: a question names about three things, a nugget may answer one of them
_CONTEXT_WEIGHT = 0.5  # of a word that stands only in the title or in the sentence before


def tag_nuggets(question: str, passage: str, frequencies: DocumentFrequencies, title: str = "") -> str:
    """A copy of the passage with tags around its nuggets."""
    weights = frequencies.weigh_question(stem_content_words(question))
    total = sum(weights.values())
    in_title = stem_content_words(title)
    in_previous: set[str] = set()
    copied: list[str] = []
    position = 0
    for start, end in find_sentence_spans(passage):
        text = passage[start:end]
        shared = stem_content_words(text) & weights.keys()
        nearby = ((in_title | in_previous) & weights.keys()) - shared
        score = sum(weights[stem] for stem in sorted(shared))
        score += _CONTEXT_WEIGHT * sum(weights[stem] for stem in sorted(nearby))
        if shared and score >= _MIN_SHARE * total and len(text.split()) >= MIN_WORDS:
            copied += [passage[position:start], OPENING_TAG, text, CLOSING_TAG]
            position = end
        in_previous = shared
    return "".join([*copied, passage[position:]])
