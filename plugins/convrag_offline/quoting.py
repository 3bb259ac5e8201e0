"""Task "answer" without a language model: windows of the passages, each with its citation.

Where the evidence is a hint at a passage of an earlier message (context=dedup), that passage is
quoted.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.answerability import REFUSE, match_passages
from convrag.sdk.text.overlap import weigh_query
from convrag.sdk.text.windows import Source, choose_windows
from convrag_offline.rewriting import History, find_missing_words

NOT_FOUND = "I could not find this in the passages."
"""The answer where the passages do not have what is asked."""

Passages = Sequence[Mapping[str, Any]]
"""Passages with `number`, `text` and `title`, or hints at them."""

_NUMBER = re.compile(r"\[(?:Doc_)?(\d+)\]")


def answer(
    question: str,
    history: History,
    evidence: Passages,
    frequencies: DocumentFrequencies,
    earlier_evidence: Passages = (),
    standalone: str = "",
    refuse: float = REFUSE,
) -> str:
    """Quote the best windows of the evidence, the best first, each with its citation.

    The words of a follow-up count twice, and those that only the searched query has once.

    Args:
        question: what to answer.
        history: the earlier exchanges, oldest first.
        evidence: passages with `number` and `text`, or a hint: `hint`, and a text that names a
            number ("[3]").
        frequencies: tell rare words from common ones.
        earlier_evidence: the passages that stand in the earlier messages, at which hints point.
        standalone: the query that was searched for; without it, the question and the words of the
            history that it lacks.
        refuse: the least share of the question's words that the best of the first five passages
            has; see `convrag.sdk.text.answerability`.

    Returns:
        NOT_FOUND where the passages have less, or there are none.
    """
    missing = [] if standalone else find_missing_words(question, history, frequencies)
    searched = weigh_query(standalone or " ".join([question, *missing]), frequencies)
    asked = weigh_query(question, frequencies)
    passages = _follow_hints(evidence, earlier_evidence)
    sources = [_make_source(passage) for passage in passages]
    match = match_passages([f"{each.title}\n{each.text}" for each in sources], asked, searched)
    if match.nearest is None or match.confidence < refuse:
        return NOT_FOUND
    windows = choose_windows(sources, _add(asked, searched))
    quotes = [f"{each.text} [{passages[each.source]['number']}]" for each in windows]
    return " ".join(quotes) or NOT_FOUND


def _add(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """Add up the weights of two queries."""
    total = dict(first)
    for stem, weight in second.items():
        total[stem] = total.get(stem, 0.0) + weight
    return total


def _make_source(passage: Mapping[str, Any]) -> Source:
    title = passage.get("title") or ""
    return Source(passage["text"].removeprefix(f"{title}\n"), title)


def _follow_hints(evidence: Passages, earlier_evidence: Passages) -> list[Mapping[str, Any]]:
    """List the evidence with hints replaced by their passages; a hint at nothing is left out."""
    full = {str(item["number"]): item for item in earlier_evidence if not item.get("hint")}
    found = []
    for item in evidence:
        if not item.get("hint"):
            found.append(item)
            continue
        number = _NUMBER.search(item["text"])
        if number and number[1] in full:
            found.append(full[number[1]])
    return found
