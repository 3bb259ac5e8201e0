"""Long passages become parts that a model can copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from convrag.sdk.sentences import sentence_spans


def parts(text: str, most: int, count: Callable[[str], int]) -> list[tuple[int, int]]:
    """(start, end) of parts of at most `most` tokens each, cut between sentences, and only inside longer ones.

    Args:
        text: a passage.
        most: tokens of a part.
        count: how many tokens a text has.
    """
    if count(text) <= most:
        return [(0, len(text))]
    found: list[tuple[int, int]] = []
    size = 0
    for start, end in (piece for span in sentence_spans(text) for piece in _fitting(text, *span, most, count)):
        tokens = count(text[start:end])
        if found and size + tokens <= most:
            found[-1] = found[-1][0], end
            size += tokens
        else:
            found.append((start, end))
            size = tokens
    return found


def _fitting(text: str, start: int, end: int, most: int, count: Callable[[str], int]) -> Iterator[tuple[int, int]]:
    """Halve a sentence between words until its pieces fit; a single word stays whole."""
    middle = text.rfind(" ", start + 1, (start + end) // 2 + 1)
    if middle < 0:
        middle = text.find(" ", start + 1, end - 1)
    if middle < 0 or count(text[start:end]) <= most:
        yield start, end
        return
    yield from _fitting(text, start, middle, most, count)
    yield from _fitting(text, middle + 1, end, most, count)
