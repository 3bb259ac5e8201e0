"""Tasks on the sentences of passages without a language model: nuggets, and answers that have them, by common words.

Task "nuggets": the passage, with tags around the sentences that match the question. A sentence covers a share of the
question's weight, in which rare words count more. Words of the title and of the sentence before count for half, since a
sentence often continues what was named there. The share of the n-th sentence is divided by log2(n + 1), as nDCG
discounts a rank, since texts say first what matters most; a sentence is tagged if it has at least a third of the
passage's best. convrag_ginger's detector=sentences does the same without weights.

Tasks "nuggetise", "importance" and "assign": a stand-in for a judge. It compares words, not facts: it does not
recognise a paraphrase, nor a contradiction in the same words. Its scores show that everything works, and they compare
answers that quote; they are no judgement.
"""

import json
import math
from collections.abc import Sequence, Set

from convrag.sdk.frequencies import DocumentFrequencies, compute_share
from convrag.sdk.matching import Asked, match_sentences
from convrag.sdk.words import find_stems
from convrag_offline.answering import MIN_SHARE, History, Passages, rewrite

OPENING_TAG, CLOSING_TAG = "<IN>", "</IN>"

_NEAR_BEST = 0.33  # of the best score; convrag_ginger's detector=sentences says why


def tag_nuggets(question: str, passage: str, frequencies: DocumentFrequencies, title: str = "") -> str:
    """A copy of the passage with tags around its nuggets."""
    sentences = match_sentences(Asked.of(frequencies.weigh_question(find_stems(question))), passage, title)
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


_MATCHES = 1 / 3  # of the question's weight: a question names about three things, a nugget may answer one of them

PARTIAL = 0.5
"""The least share of a nugget's content words for partial support; full support has all of them."""


def nuggetise(
    question: str,
    history: History,
    passages: Passages,
    nuggets: Sequence[str],
    most: int,
    words: int,
    frequencies: DocumentFrequencies,
) -> str:
    """Add the nuggets of more passages to a list: the beginnings of the sentences that match the question.

    Args:
        question: what the nuggets answer.
        history: of the question, oldest exchange first.
        passages: with `text` and maybe `title`.
        nuggets: the list so far.
        most: the most nuggets of the new list.
        words: the most words of a nugget.
        frequencies: tell rare words from common ones.

    Returns:
        {"nuggets": [...]} as JSON, the nuggets that cover most of the question first.
    """
    wanted = frequencies.weigh_question(find_stems(rewrite(question, history, frequencies)))
    spans = [
        each["text"][sentence.start : sentence.end]
        for each in passages
        for sentence in match_sentences(Asked.of(wanted), each["text"], each.get("title", ""))
        if sentence.own and sentence.share >= _MATCHES
    ]
    distinct = dict.fromkeys([*nuggets, *(" ".join(span.split()[:words]) for span in spans)])
    best = sorted(distinct, key=lambda text: -compute_share(text, wanted))
    return json.dumps({"nuggets": best[:most]}, ensure_ascii=False)


def rate_importance(question: str, history: History, nuggets: Sequence[str], frequencies: DocumentFrequencies) -> str:
    """Label each nugget "vital" if it covers half of the question's weight, as an answer must, else "okay"; as JSON."""
    weights = frequencies.weigh_question(find_stems(rewrite(question, history, frequencies)))
    return json.dumps(
        {"labels": ["vital" if compute_share(text, weights) >= MIN_SHARE else "okay" for text in nuggets]}
    )


def assign_support(nuggets: Sequence[str], answer: str, frequencies: DocumentFrequencies) -> str:
    """Label each nugget by the share of its content words that the answer has; as JSON.

    All of them are "support", half of them "partial", fewer "none".
    """
    answered = find_stems(answer)
    return json.dumps({"labels": [_label(find_stems(text), answered) for text in nuggets]})


def _label(nugget: Set[str], answer: Set[str]) -> str:
    share = len(nugget & answer) / len(nugget) if nugget else 0.0
    return "support" if share == 1 else "partial" if share >= PARTIAL else "none"
