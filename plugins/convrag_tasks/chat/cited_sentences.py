"""Which sentences of a passage an answer rests on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from convrag import Passage, TurnRecord
from convrag.sdk.sentences import find_sentence_spans
from convrag.sdk.stemming import stem_words

Span = tuple[int, int]

_CITATION = re.compile(r"\[\s*(\d+(?:\s*[,;]\s*\d+)*)\s*\]")
_WORD = re.compile(r"\d+|[^\W\d_]{4,}")


def find_cited_spans(record: TurnRecord, passage: Passage, number: int) -> list[Span]:
    """Find the parts of a passage that an answer cites, as (start, end) in its text, in order.

    A generator that notes its nuggets, as generator=ginger does, says so itself. For any other it is, for each sentence
    of the answer with the passage's number, the sentence of the passage that shares most of its longer words.

    Args:
        record: the turn.
        passage: of its evidence.
        number: by which the answer cites the passage.
    """
    if passage.id not in record.answer.citations:
        return []
    trace = record.trace.get("generator", {})
    return _find_nuggets(trace, passage.id) or _find_similar(record.answer.text, passage.text, number)


def _find_nuggets(trace: Mapping[str, Any], passage_id: str) -> list[Span]:
    """The nuggets of the clusters whose sentences cite the passage; none where the trace has no such entries."""
    spans = set()
    try:
        nuggets, clusters = trace["nuggets"], trace["clusters"]
        for sentence in trace["sentences"]:
            if passage_id in sentence["passages"]:
                members = [nuggets[place] for place in clusters[sentence["cluster"]]["nuggets"]]
                spans |= {(each["start"], each["end"]) for each in members if each["passage_id"] == passage_id}
    except (KeyError, IndexError, TypeError):  # another generator's trace has other entries of these names
        return []
    return sorted(spans)


def _find_similar(answer: str, text: str, number: int) -> list[Span]:
    """For each sentence of the answer with the number, the sentence of the text that shares most words with it."""
    candidates = [(span, _find_stems(text[slice(*span)])) for span in find_sentence_spans(text)]
    spans = set()
    for claim in _list_claims(answer, number):
        wanted = _find_stems(claim)
        shared = [(len(wanted & stems), span) for span, stems in candidates]
        best, span = max(shared, key=lambda each: each[0], default=(0, (0, 0)))
        if best:
            spans.add(span)
    return sorted(spans)


def _list_claims(answer: str, number: int) -> list[str]:
    """The sentence that each citation of a number belongs to; one behind a full stop belongs to the sentence before.

    "Dogs bark. [1] Cats do not [2]." -> for 1 "Dogs bark.", for 2 "Cats do not".
    """
    claims, claimed = [], ""
    position = 0
    for found in _CITATION.finditer(answer):
        before = answer[position : found.start()].strip().lstrip(".!? ")
        position = found.end()
        if before:
            claimed = before[slice(*find_sentence_spans(before)[-1])] if find_sentence_spans(before) else before
        if number in {int(each) for each in re.findall(r"\d{1,9}", found[1])}:
            claims.append(claimed)
    return claims


def _find_stems(text: str) -> set[str]:
    return set(stem_words(_WORD.findall(text.lower())))
