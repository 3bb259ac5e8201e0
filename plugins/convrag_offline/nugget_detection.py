"""Task "nuggets" without a language model: the passage, with tags around the sentences that match the question.

A sentence covers a share of the question's weight, in which rare words count more. Words of the title and of the
sentence before count for half, since a sentence often continues what was named there. The share of the n-th sentence is
divided by log2(n + 1), as nDCG discounts a rank, since texts say first what matters most; a sentence is tagged if it
has at least a third of the passage's best. convrag_ginger's detector=sentences does the same without weights.
"""

import math
from typing import NamedTuple

from convrag.sdk.sentences import find_sentence_spans
from convrag.sdk.words import find_stems
from convrag_offline.answering import MIN_WORDS
from convrag_offline.document_frequencies import DocumentFrequencies, add_weights

OPENING_TAG, CLOSING_TAG = "<IN>", "</IN>"

_NEAR_BEST = 0.33  # of the best score; convrag_ginger's detector=sentences says why
_CONTEXT_WEIGHT = 0.5  # of a word that stands only in the title or in the sentence before


class ScoredSentence(NamedTuple):
    """Where a sentence stands, in characters; the share of the question's weight that it covers, by itself and in all.

    `own` counts the words of the sentence; `share` those of the title and of the sentence before as well, for half.
    """

    start: int
    end: int
    own: float
    share: float


def tag_nuggets(question: str, passage: str, frequencies: DocumentFrequencies, title: str = "") -> str:
    """A copy of the passage with tags around its nuggets."""
    sentences = score_sentences(question, passage, frequencies, title)
    if not any(sentence.own for sentence in sentences):
        return passage
    scores = [sentence.share / math.log2(n + 1) for n, sentence in enumerate(sentences, 1)]
    copied: list[str] = []
    position = 0
    for sentence, score in zip(sentences, scores, strict=True):
        if score >= _NEAR_BEST * max(scores):
            copied += [passage[position : sentence.start], OPENING_TAG]
            copied += [passage[sentence.start : sentence.end], CLOSING_TAG]
            position = sentence.end
    return "".join([*copied, passage[position:]])


def score_sentences(
    question: str, passage: str, frequencies: DocumentFrequencies, title: str = ""
) -> list[ScoredSentence]:
    """The sentences of a passage, without its headings, in order, with what they cover of the question."""
    weights = frequencies.weigh_question(find_stems(question))
    total = sum(weights.values())
    in_title = find_stems(title)
    in_previous = frozenset[str]()
    found: list[ScoredSentence] = []
    for start, end in find_sentence_spans(passage):
        text = passage[start:end]
        shared = find_stems(text) & weights.keys()
        nearby = ((in_title | in_previous) & weights.keys()) - shared
        own = add_weights(shared, weights)
        share = own + _CONTEXT_WEIGHT * add_weights(nearby, weights)
        if total and text != title and len(text.split()) >= MIN_WORDS:
            found.append(ScoredSentence(start, end, own / total, share / total))
        in_previous = shared
    return found
