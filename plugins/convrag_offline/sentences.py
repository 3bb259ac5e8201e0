"""Text becomes sentences."""

from __future__ import annotations

import re
from functools import lru_cache

_CITATION = re.compile(r"[^\S\n]*\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]")


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text in order, each on one line; numbers in square brackets, which would look like citations
    of ours, are left out. A line break ends a sentence: in passages it stands behind titles and list items.
    """
    from pysbd import Segmenter

    segmenter = Segmenter(language="en", clean=False)  # it keeps the text that it works on: one for each call
    lines = (" ".join(line.split()) for line in without_citations(text).splitlines())
    return tuple(sentence.strip() for line in lines if line for sentence in segmenter.segment(line))


def without_citations(text: str) -> str:
    """A text without numbers in square brackets."""
    return _CITATION.sub("", text)
