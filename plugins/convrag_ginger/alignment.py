"""Finds copied texts, such as a model's quotations, in the text that they were copied from."""

import re
import unicodedata
from typing import Literal, NamedTuple

from convrag.sdk.text.characters import find_invisible

LIBRARIES = {"rapidfuzz": "rapidfuzz"}
"""Their versions are part of the fingerprints of stages that use them."""

_WORD = re.compile(r"\w+")
_BOUNDARIES = 4
"""Word beginnings, and word ends, around a fuzzy match that are tried as its boundaries."""

_LOOKALIKES = str.maketrans("‘’‚‛′“”„‟″«»‐‑‒–—―−", "'''''" + '"' * 7 + "-" * 7)


def keep_outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Keep the spans that do not lie within another one, in order.

    Args:
        spans: (start, end) of each, in characters.

    Example:
        >>> keep_outermost([(4, 9), (0, 9), (12, 15)])
        [(0, 9), (12, 15)]
    """
    kept: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or end > kept[-1][1]:
            kept.append((start, end))
    return kept


class Alignment(NamedTuple):
    """The place of a copied text in the passage.

    Args:
        start: of the copied text, in characters of the passage.
        end: the character after its last one.
        match: which kind of match it is.
    """

    start: int
    end: int
    match: Literal["exact", "normalised", "fuzzy"]


class Aligner:
    """Aligns copied texts with the text that they were copied from.

    A match is exact, or it differs in case, white space, quotation marks or dashes (normalised), or
    it is similar (fuzzy: edit distance, by rapidfuzz).

    Args:
        text: the passage.
        fuzzy: the least similarity of a fuzzy match, 0 to 1.
    """

    def __init__(self, text: str, fuzzy: float) -> None:
        self.text = text
        self.fuzzy = fuzzy
        self._normalised, self._offsets = _normalise_with_offsets(text)

    def align(self, copy: str, after: int = 0) -> Alignment | None:
        """Find the first match of whole words from offset `after` on, else the first in the text.

        A fuzzy match begins and ends where words do. None without a match.
        """
        span = _find_whole_words(copy, self.text, after)
        if span:
            return Alignment(*span, "exact")
        normalised = _normalise_with_offsets(copy)[0].strip()
        if not normalised:
            return None
        first = next((index for index, offset in enumerate(self._offsets) if offset >= after), 0)
        span = _find_whole_words(normalised, self._normalised, first)
        if span:
            return Alignment(*self._original_span(*span), "normalised")
        return self._align_fuzzily(normalised)

    def _align_fuzzily(self, copy: str) -> Alignment | None:
        from rapidfuzz.fuzz import partial_ratio_alignment, ratio

        if len(copy) > len(self._normalised) / self.fuzzy:
            return None  # rapidfuzz would look for the passage in the copy
        found = partial_ratio_alignment(copy, self._normalised, score_cutoff=100 * self.fuzzy)
        words = list(_WORD.finditer(self._normalised))
        if found is None or not words:
            return None
        starts = _find_nearest([word.start() for word in words], found.dest_start)
        ends = _find_nearest([word.end() for word in words], found.dest_end)
        spans = [(start, end) for start in starts for end in ends if start < end]
        if not spans:
            return None
        best = max(spans, key=lambda span: ratio(copy, self._normalised[slice(*span)]))
        return Alignment(*self._original_span(*best), "fuzzy")

    def _original_span(self, start: int, end: int) -> tuple[int, int]:
        return self._offsets[start], self._offsets[end - 1] + 1


def _find_nearest(offsets: list[int], place: int) -> list[int]:
    """Find the offsets that are nearest to a place, the nearest first."""
    return sorted(offsets, key=lambda offset: abs(offset - place))[:_BOUNDARIES]


def _find_whole_words(part: str, text: str, after: int) -> tuple[int, int] | None:
    """Find the span of a part that begins and ends where words do."""
    if not part.strip():
        return None
    no_word_before = r"(?<!\w)" if part[0].isalnum() else ""
    no_word_after = r"(?!\w)" if part[-1].isalnum() else ""
    pattern = re.compile(no_word_before + re.escape(part) + no_word_after)
    found = pattern.search(text, after) or pattern.search(text)
    return found.span() if found else None


def _normalise_with_offsets(text: str) -> tuple[str, list[int]]:
    """Normalise case, white space, quotes and dashes, without soft hyphens and the like.

    Also return each character's offset.
    """
    characters: list[str] = []
    offsets: list[int] = []
    hidden = {offset for span in find_invisible(text) for offset in range(*span)}
    for offset, character in enumerate(text.translate(_LOOKALIKES)):
        if offset in hidden:
            continue
        plain = unicodedata.normalize("NFKC", character).casefold()
        plain = " " if plain.isspace() else plain
        if plain == " " and characters and characters[-1] == " ":
            continue
        characters += plain
        offsets += [offset] * len(plain)
    return "".join(characters), offsets
