"""Tasks "spans", "draft_spans", "draft_passages", "choose" and "reply" without a language model, by words in common.

The spans are the sentences that cover most of the question; a draft quotes those that answer it; and the better of two
drafts is the one with more of its words in the passages ("support"), that covers more of the question ("completeness"),
or more of whose words the question has ("relevance").
"""

import json
import math
import re

from convrag.sdk.sentences import remove_citations
from convrag.sdk.words import find_stems
from convrag_offline.answering import answer
from convrag_offline.document_frequencies import DocumentFrequencies, compute_share
from convrag_offline.nugget_detection import score_sentences
from convrag_offline.rewriting import History, Passages, complete_question

MOST_SPANS = 6
"""The most sentences that are marked in all passages together."""

_NEAR_BEST = 0.5  # of the best score: the least score of the other sentences
_FULL, _PART = 0.9, 0.5  # the least share of the question's weight that the spans of a full and a partial answer cover

_COURTESY = re.compile(r"\b(?:thanks?|hello|hi|hey|bye|goodbye|great|okay|ok|perfect|wonderful|awesome)\b")
_POLITE = """
a all and awesome bye cool for good goodbye got great hello help helpful hey hi i information is it it's lot many much
nice now ok okay perfect so thank thanks that that's the there this very was wonderful you your
"""


def mark_spans(
    question: str, standalone: str, history: History, evidence: Passages, frequencies: DocumentFrequencies
) -> str:
    """JSON with the sentences of the passages that match the question best, and how much of it they cover."""
    if _is_courtesy(question):
        return json.dumps({"asks": False, "answered": "none", "spans": []})
    asked = standalone or complete_question(question, history, frequencies)
    scored = [
        (sentence.share / math.log2(place + 1), int(item["number"]), item["text"][sentence.start : sentence.end])
        for item in evidence
        for place, sentence in enumerate(score_sentences(asked, item["text"], frequencies, item["title"]), 1)
        if sentence.own
    ]
    best = max((score for score, _, _ in scored), default=0.0)
    ranked = sorted(enumerate(scored), key=lambda each: (-each[1][0], each[0]))[:MOST_SPANS]
    chosen = [each for _, each in sorted(ranked) if each[0] >= _NEAR_BEST * best]
    covered = compute_share(" ".join(text for _, _, text in chosen), frequencies.weigh_question(find_stems(asked)))
    answered = "full" if covered >= _FULL else "part" if covered >= _PART else "none"
    spans = [{"passage": number, "quote": text} for _, number, text in chosen]
    return json.dumps({"asks": True, "answered": answered, "spans": spans}, ensure_ascii=False)


def draft(
    question: str, standalone: str, history: History, evidence: Passages, frequencies: DocumentFrequencies
) -> str:
    """The sentences of the evidence that answer the question, each with its citation; see `answering`."""
    return answer(standalone or question, () if standalone else history, evidence, frequencies)


def choose(
    question: str,
    standalone: str,
    history: History,
    evidence: Passages,
    criterion: str,
    first: str,
    second: str,
    frequencies: DocumentFrequencies,
) -> str:
    """JSON that says which of two drafts is better by a criterion, or that they are equal."""
    asked = standalone or complete_question(question, history, frequencies)
    said = set().union(*(find_stems(item["text"]) for item in evidence))
    scores = []
    for text in map(remove_citations, (first, second)):
        stems = find_stems(text)
        if criterion == "completeness":
            scores.append(compute_share(text, frequencies.weigh_question(find_stems(asked))))
        else:
            known = said if criterion == "support" else find_stems(asked)
            scores.append(len(stems & known) / len(stems) if stems else 0.0)
    return json.dumps({"better": "tie" if scores[0] == scores[1] else "A" if scores[0] > scores[1] else "B"})


def reply(question: str, frequencies: DocumentFrequencies) -> str:
    """A courtesy."""
    return "You're welcome." if "thank" in question.lower() else "What would you like to know?"


def _is_courtesy(question: str) -> bool:
    """Whether an utterance has no words but those of greetings and thanks."""
    words = re.findall(r"[\w'’]+", question.lower().replace("’", "'"))
    return bool(_COURTESY.search(question.lower())) and "?" not in question and set(words) <= set(_POLITE.split())
