"""The nuggets of a passage without a language model: sentences, by the words in common with the
question.

Task "nuggets": the passage, with tags around the sentences that match the question. A sentence
covers a share of the question's weight, in which rare words count more. Words of the title and of
the sentence before count for half, since a sentence often continues what was named there. The share
of the n-th sentence is divided by log2(n + 1), as nDCG discounts a rank, since texts say first what
matters most; a sentence is tagged if it has at least a third of the passage's best.
convrag_ginger's detector=sentences does the same without weights.
"""

import math

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.matching import Asked, match_sentences

OPENING_TAG, CLOSING_TAG = "<IN>", "</IN>"

_NEAR_BEST = 0.33  # of the best score; convrag_ginger's detector=sentences says why


def tag_nuggets(
    question: str, passage: str, frequencies: DocumentFrequencies, title: str = ""
) -> str:
    """A copy of the passage with tags around its nuggets."""
    sentences = match_sentences(
        Asked.of(frequencies.weigh_question(find_stems(question))), passage, title
    )
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
