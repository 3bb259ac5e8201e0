"""Tasks "solve", "compare" and "alone" without a language model: a question is checked by the words in common.

A question is answered by the sentence that covers most of its words. So a question is good if that sentence is the one
it was made of, which is what finding its passage by words needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from convrag.sdk.words import ANAPHORS, find_stems, find_words
from convrag_offline.document_frequencies import DocumentFrequencies, add_weights
from convrag_offline.question_writing import find_prose
from convrag_offline.rewriting import Exchange, find_missing_words

_SAME = 0.6
"""The share of the shorter answer's content words that the other one has, where both say the same."""

_ELLIPSIS = re.compile(r"^(?:and|but|so|what about|how about|why not)\b", re.IGNORECASE)


def solve(
    question: str, title: str, passage: str, history: Sequence[Exchange], frequencies: DocumentFrequencies
) -> str:
    """JSON with the sentence of the passage that covers most of the question; empty where none covers anything.

    Of equal sentences the first is taken. A question about the title is answered by the first sentence.

    Args:
        question: in the conversation.
        title: of the passage.
        passage: its text.
        history: the conversation before the question, oldest exchange first.
        frequencies: tell rare words from common ones.
    """
    added = " ".join(find_missing_words(question, history, frequencies))
    weights = frequencies.weigh_question(find_stems(question))
    extra = frequencies.weigh_question(find_stems(added))
    sentences = find_prose(passage)
    scores = [(add_weights(stems, weights), add_weights(stems, extra)) for stems in map(find_stems, sentences)]
    best = max(range(len(scores)), key=lambda index: (scores[index], -index), default=None)
    if best is None or (not any(scores[best]) and not find_stems(title) & weights.keys()):
        return json.dumps({"answer": ""})
    return json.dumps({"answer": sentences[best]}, ensure_ascii=False)


def compare(question: str, answer: str, other: str, frequencies: DocumentFrequencies) -> str:
    """JSON that says whether two answers have most words in common."""
    one, two = sorted((find_stems(answer), find_stems(other)), key=len)
    return json.dumps({"same": bool(one) and len(one & two) >= _SAME * len(one)})


def judge_clarity(question: str, frequencies: DocumentFrequencies) -> str:
    """JSON that says whether a question names what it is about, and refers to nothing said before."""
    refers_back = any(word.text.lower().replace("’", "'") in ANAPHORS for word in find_words(question))
    clear = not refers_back and not _ELLIPSIS.match(question) and bool(find_stems(question))
    return json.dumps({"clear": clear})
