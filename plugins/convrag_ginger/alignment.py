"""Finds a text that a model copied in the passage that it was copied from."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

_WORD = re.compile(r"\w+")
_NEAR = 4  # beginnings, and ends, of words near a fuzzy place that are tried
_LOOKALIKES = str.maketrans("‘’‚‛′“”„‟″«»‐‑‒–—―−", "'''''" + '"' * 7 + "-" * 7)


class Located(NamedTuple):
    """Where a copy stands in its source, in characters, and how it was found."""

    start: int
    end: int
    how: Literal["exact", "normalised", "fuzzy"]


class Source:
    """A text to find copies in: exact ones, then those that differ in case, white space, quotes or dashes, then others.

    Args:
        text: the source.
        fuzzy: the least similarity of other copies, 0 to 1.
    """

    def __init__(self, text: str, fuzzy: float) -> None:
        self.text = text
        self.fuzzy = fuzzy
        self._normal, self._places = _normalised(text)

    def locate(self, copy: str, after: int = 0) -> Located | None:
        """The first place behind `after`, else the first of all, where whole words are the same; maybe none.

        A fuzzy place begins and ends where words do.
        """
        if span := _whole_words(copy, self.text, after):
            return Located(*span, "exact")
        normal = _normalised(copy)[0].strip()
        if not normal:
            return None
        behind = next((index for index, place in enumerate(self._places) if place >= after), 0)
        if span := _whole_words(normal, self._normal, behind):
            return Located(*self._original(*span), "normalised")
        return self._nearest(normal)

    def _nearest(self, normal: str) -> Located | None:
        from rapidfuzz.fuzz import partial_ratio_alignment, ratio

        if len(normal) > len(self._normal) / self.fuzzy:  # then the source would be found in the copy
            return None
        found = partial_ratio_alignment(normal, self._normal, score_cutoff=100 * self.fuzzy)
        words = list(_WORD.finditer(self._normal))
        if found is None or not words:
            return None
        starts = sorted((word.start() for word in words), key=lambda at: abs(at - found.dest_start))[:_NEAR]
        ends = sorted((word.end() for word in words), key=lambda at: abs(at - found.dest_end))[:_NEAR]
        spans = [(start, end) for start in starts for end in ends if start < end]
        best = max(spans, key=lambda span: ratio(normal, self._normal[slice(*span)]), default=None)
        return Located(*self._original(*best), "fuzzy") if best else None

    def _original(self, start: int, end: int) -> tuple[int, int]:
        return self._places[start], self._places[end - 1] + 1


def _whole_words(part: str, text: str, after: int) -> tuple[int, int] | None:
    if not part.strip():
        return None
    before, behind = r"(?<!\w)" if part[0].isalnum() else "", r"(?!\w)" if part[-1].isalnum() else ""
    pattern = re.compile(before + re.escape(part) + behind)
    found = pattern.search(text, after) or pattern.search(text)
    return found.span() if found else None


def _normalised(text: str) -> tuple[str, list[int]]:
    """A text in one case, with single spaces and plain quotes and dashes, and the place of each of its characters."""
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text.translate(_LOOKALIKES)):
        plain = unicodedata.normalize("NFKC", character).casefold()
        plain = " " if plain.isspace() else plain
        if plain == " " and characters and characters[-1] == " ":
            continue
        characters += plain
        places += [place] * len(plain)
    return "".join(characters), places
