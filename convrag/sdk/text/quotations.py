"""Quotations: the sentences of passages that an answer repeats word for word."""

from collections.abc import Iterable

from convrag.api.answers import PassageSpan, Support
from convrag.api.passages import Passage
from convrag.sdk.text.windows import Source, clean_quote, split_passage


def find_quotations(answer: str, passages: Iterable[Passage]) -> tuple[Support, ...]:
    """Find what an answer quotes: the place of each quoted sentence in the answer and its passage.

    Args:
        answer: an answer that consists of quotations.
        passages: the passages that it cites.
    """
    found = []
    for passage in passages:
        for sentence in split_passage(Source(passage.text, passage.title)):
            quoted = clean_quote(passage.text[sentence.start : sentence.end])
            place = answer.find(quoted) if quoted and sentence.kind != "heading" else -1
            if place >= 0:
                span = PassageSpan(passage.id, sentence.start, sentence.end)
                found.append(Support(place, place + len(quoted), (span,)))
    return tuple(sorted(found, key=lambda each: (each.start, each.spans[0].passage_id)))
