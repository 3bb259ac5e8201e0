"""Task "answer" without a language model: quote the sentences of the evidence that match the question.

A sentence's score is the share of the question's weight that its words cover. A word weighs more if fewer passages of
the corpus have it (idf). A question that refers back is matched together with the words that a rewrite would add.
Where the evidence is a hint to a passage of an earlier message, that passage is read there.
"""

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from convrag.sdk.sentences import split_sentences
from convrag.sdk.words import find_stems
from convrag_offline.document_frequencies import DocumentFrequencies, add_weights
from convrag_offline.rewriting import History, Passages, find_missing_words

NOT_FOUND = "I could not find this in the passages."
"""The answer where no sentence matches."""

MAX_SENTENCES = 3
"""The most sentences of an answer."""

MIN_SHARE = 0.5
"""The least share of the question's weight that a sentence must cover; with less, it answers another question."""

MIN_WORDS = 4
"""The fewest words of a sentence; shorter ones are headings."""

_NUMBER = re.compile(r"\[(\d+)\]")
_NEAR_BEST = 0.75  # of the best score: the least score of the other sentences of an answer


class _Sentence(NamedTuple):
    number: int
    position: int
    text: str
    stems: frozenset[str]


def answer(
    question: str,
    history: History,
    evidence: Passages,
    frequencies: DocumentFrequencies,
    earlier_evidence: Passages = (),
) -> str:
    """Up to three sentences in the order of the passages, each with its citation, or NOT_FOUND.

    Args:
        question: what to answer.
        history: the earlier exchanges, oldest first.
        evidence: passages with `number` and `text`, or a hint: `hint`, and a text that names a number ("[3]").
        frequencies: tell rare words from common ones.
        earlier_evidence: the passages that stand in the earlier messages, at which hints point.
    """
    evidence = _follow_hints(evidence, earlier_evidence)
    wanted = find_stems(question)
    for text in find_missing_words(question, history, frequencies):
        wanted |= find_stems(text)
    matching = _find_matching_sentences(evidence, wanted)
    chosen = _choose_best(matching, frequencies.weigh_question(wanted))
    return " ".join(f"{sentence.text} [{sentence.number}]" for sentence in sorted(chosen)) or NOT_FOUND


def _follow_hints(evidence: Passages, earlier_evidence: Passages) -> list[Mapping[str, Any]]:
    """The evidence with the passages at which its hints point; a hint at nothing is left out."""
    full = {str(item["number"]): item for item in earlier_evidence if not item.get("hint")}
    found = []
    for item in evidence:
        named = _NUMBER.search(item["text"]) if item.get("hint") else None
        if not item.get("hint"):
            found.append(item)
        elif named and named[1] in full:
            found.append(full[named[1]])
    return found


def _find_matching_sentences(evidence: Passages, wanted: Set[str]) -> list[_Sentence]:
    """The distinct sentences that have a word of the question."""
    found: dict[str, _Sentence] = {}
    for item in evidence:
        if wanted.isdisjoint(find_stems(item["text"])):
            continue
        for position, text in enumerate(split_sentences(item["text"])):
            stems = frozenset(find_stems(text) & wanted)
            if stems and len(text.split()) >= MIN_WORDS and text != item.get("title"):
                found.setdefault(text, _Sentence(int(item["number"]), position, text, stems))
    return list(found.values())


def _choose_best(found: Sequence[_Sentence], weights: Mapping[str, float]) -> list[_Sentence]:
    """The sentence with the highest score, and those with nearly as much; of equal scores, the earlier passage's."""
    total = sum(weights.values())
    scores = {sentence.text: add_weights(sentence.stems, weights) for sentence in found}
    ranked = sorted(found, key=lambda sentence: (-scores[sentence.text], sentence.number, sentence.position))
    if not ranked or scores[ranked[0].text] < MIN_SHARE * total:
        return []
    least = max(MIN_SHARE * total, _NEAR_BEST * scores[ranked[0].text])
    return [sentence for sentence in ranked[:MAX_SENTENCES] if scores[sentence.text] >= least]
