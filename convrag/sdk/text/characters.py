r"""Characters that a reader does not see as letters of their own: soft hyphens, raised digits.

"Donau\u00addampfer" and "Fahr\u200bplan" are one word each; "10⁶" is not 106.
"""

import re

_LETTER = r"[A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u052f]"
"""A letter of an alphabet whose letters are not joined, so that a joiner shows nothing."""

_INVISIBLE = re.compile(
    r"[\u00ad\u180e\u200b\u2060-\u2064\ufeff]+"
    rf"|(?<={_LETTER})[\u200c\u200d]+(?={_LETTER})"
)

_IGNORED = re.compile(
    r"[\u00ad\u034f\u061c\u180b-\u180f\u200b\u200d-\u200f\u202a-\u202e\u2060-\u206f"
    r"\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]+"
    r"|(?<![\u0600-\u06ff])\u200c+"
)

_HYPHENS = re.compile("[\u2010\u2011]")

_UNUSUAL = re.compile(
    r"[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u2011\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e0fff⁰¹²³⁴⁵⁶⁷⁸⁹⁻₀₁₂₃₄₅₆₇₈₉¼½¾⅐-⅞]"
)
"""A character that the functions of this module may replace; most texts have none."""

_SEPARATE_NUMBER = re.compile(
    r"(?:(?<=\d)|(?<=[^\W\d_]{3}))(?=[⁰¹²³⁴⁵⁶⁷⁸⁹])"  # 10⁶, and the number of a note
    r"|(?<=\d)(?=[⁻₀₁₂₃₄₅₆₇₈₉¼½¾⅐-⅞])"  # 10⁻⁶, 2½
    r"|(?<=[₀₁₂₃₄₅₆₇₈₉])(?=\d)"  # log₁₀5
)


def find_invisible(text: str) -> list[tuple[int, int]]:
    r"""Find the spans of characters that show nothing: soft hyphens, spaces without width.

    Joiners that change the shape of letters (Persian, Indic scripts) or of emoji are not among
    them, nor are the marks of writing from right to left.

    Example:
        >>> find_invisible("Donau\u00addampfer")
        [(5, 6)]
    """
    if _UNUSUAL.search(text) is None:
        return []
    return [found.span() for found in _INVISIBLE.finditer(text)]


def remove_invisible(text: str) -> str:
    r"""Remove the characters that `find_invisible` finds.

    Example:
        >>> remove_invisible("Donau\u00addampfer")
        'Donaudampfer'
    """
    return text if _UNUSUAL.search(text) is None else _INVISIBLE.sub("", text)


def simplify_characters(text: str) -> str:
    r"""Prepare a text for being split into words, before compatibility forms become letters (NFKC).

    Characters within words that are no letters are removed, marks of writing direction and
    selectors of variants among them; hyphens become "-"; and a raised or lowered number is set
    apart from the number or the word before it. "m²" and "H₂O" stay together.

    Example:
        >>> simplify_characters("Fahr\u200bplan, 10⁶ m²")
        'Fahrplan, 10 ⁶ m²'
    """
    if _UNUSUAL.search(text) is None:
        return text
    joined = _HYPHENS.sub("-", _IGNORED.sub("", text))
    return _SEPARATE_NUMBER.sub(" ", joined)
