"""Tasks "nuggetise", "importance" and "assign" without a language model: a stand-in that counts words in common.

It compares words, not facts: it does not recognise a paraphrase, nor a contradiction in the same words. Its scores show
that everything works, and they compare answers that quote; they are no judgement.
"""

import json
from collections.abc import Sequence, Set

from convrag.sdk.words import find_stems
from convrag_offline.answering import MIN_SHARE
from convrag_offline.document_frequencies import DocumentFrequencies, compute_share
from convrag_offline.nugget_detection import score_sentences
from convrag_offline.rewriting import History, Passages, complete_question

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
    complete = complete_question(question, history, frequencies)
    spans = [
        each["text"][sentence.start : sentence.end]
        for each in passages
        for sentence in score_sentences(complete, each["text"], frequencies, each.get("title", ""))
        if sentence.own and sentence.share >= _MATCHES
    ]
    distinct = dict.fromkeys([*nuggets, *(" ".join(span.split()[:words]) for span in spans)])
    weights = frequencies.weigh_question(find_stems(complete))
    best = sorted(distinct, key=lambda text: -compute_share(text, weights))
    return json.dumps({"nuggets": best[:most]}, ensure_ascii=False)


def rate_importance(question: str, history: History, nuggets: Sequence[str], frequencies: DocumentFrequencies) -> str:
    """Label each nugget "vital" if it covers half of the question's weight, as an answer must, else "okay"; as JSON."""
    weights = frequencies.weigh_question(find_stems(complete_question(question, history, frequencies)))
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
