"""Which sentences of a passage an answer rests on."""

from __future__ import annotations

import re

from convrag import Passage, TurnRecord
from convrag.sdk.sentences import find_sentence_spans
from convrag.sdk.statements import find_cited_statements
from convrag.sdk.words import stem_words

Span = tuple[int, int]

_WORD = re.compile(r"\d+|[^\W\d_]{4,}")


def find_cited_spans(record: TurnRecord, passage: Passage, number: int) -> list[Span]:
    """Find the parts of a passage that an answer cites, as (start, end) in its text, in order.

    A generator that knows them says so (`Answer.support`). For any other it is, for each sentence of the answer with
    the passage's number, the sentence of the passage that shares most of its longer words.

    Args:
        record: the turn.
        passage: of its evidence.
        number: by which the answer cites the passage.
    """
    if passage.id not in record.answer.citations:
        return []
    return record.answer.find_spans(passage.id) or _find_similar(record.answer.text, passage.text, number)


def _find_similar(answer: str, text: str, number: int) -> list[Span]:
    """For each sentence of the answer with the number, the sentence of the text that shares most words with it."""
    candidates = [(span, _find_stems(text[slice(*span)])) for span in find_sentence_spans(text)]
    spans = set()
    for start, end, numbers in find_cited_statements(answer):
        wanted = _find_stems(answer[start:end]) if number in numbers else set()
        shared = [(len(wanted & stems), span) for span, stems in candidates]
        best, span = max(shared, key=lambda each: each[0], default=(0, (0, 0)))
        if best:
            spans.add(span)
    return sorted(spans)


def _find_stems(text: str) -> set[str]:
    return set(stem_words(_WORD.findall(text.lower())))
