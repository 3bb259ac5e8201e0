"""Text above and below the line: exponents, indices, and the readings of characters (ruby).

A number above the line must not join the number before it: "10⁶" is not 106. It is written with the
superscripts of Unicode, and with "^" where there are none: "2^(k·q)".
"""

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Literal

Position = Literal["", "super", "sub"]
"""Where a text is: on the line, above it, below it."""

_SUPER = dict(
    zip(
        "0123456789+-−=()abcdefghijklmnoprstuvwxyz",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ",
        strict=True,
    )
)
_SUB = dict(
    zip("0123456789+-−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True)
)
_KEPT = frozenset(",.;:* \u00a0†‡")
"""Marks that stay on the line between raised numbers: "word¹,²"."""

_ENDINGS = "st nd rd th er re e ère ere ème eme è o a os as º ª de ste me mes lle lles"
"""Endings of numbers and of short forms that belong to the word: 1st, 2e, Mme."""

_ORDINALS = frozenset(_ENDINGS.split())

_SIGNS = {"tm": "™", "sm": "℠"}
_LONGEST = 12
"""Characters from which raised text is small print, and not an exponent."""

_READING_START = "\ufdd0"
_READING_END = "\ufdd1"
_READINGS = re.compile(
    rf"(?:[㐀-鿿豈-﫿々]*+{_READING_START}[^{_READING_START}{_READING_END}]*+{_READING_END})+"
    r"[㐀-鿿豈-﫿々]*+"
)
_READING = re.compile(f"{_READING_START}([^{_READING_END}]*){_READING_END}")


def raise_text(text: str, before: str) -> str:
    """Write a text above the line.

    Args:
        text: the text.
        before: the text before it, on the same line.

    Example:
        >>> "10" + raise_text("6", "10"), "1" + raise_text("st", "1"), "2" + raise_text("K", "2")
        ('10⁶', '1st', '2^K')
    """
    word = text.strip()
    if word.lower() in _SIGNS and before[-1:].isalnum():
        return text.replace(word, _SIGNS[word.lower()])
    is_ending = word.lower() in _ORDINALS and (before[-1:].isdigit() or len(word) > 1)
    if is_ending:
        return text
    is_badge = len(word) > 2 and word.isalpha() and before[-1:].isalpha()
    if is_badge:
        return f" {text}"
    return _move(text, before, _SUPER, "^")


def lower_text(text: str, before: str) -> str:
    """Write a text below the line.

    Args:
        text: the text.
        before: the text before it, on the same line.

    Example:
        >>> "H" + lower_text("2", "H") + "O", "V" + lower_text("DD", "V")
        ('H₂O', 'V_DD')
    """
    return _move(text, before, _SUB, "_")


def _move(text: str, before: str, forms: dict[str, str], sign: str) -> str:
    """Replace characters by their raised or lowered forms; where one has none, by a sign."""
    word = text.strip()
    has_content = any(letter.isalnum() for letter in word)
    if not has_content or word.startswith("[") or len(word) > _LONGEST:
        return text
    if all(letter in forms or letter in _KEPT for letter in word):
        return "".join(forms.get(letter, letter) for letter in text)
    if not before[-1:].strip():
        return text
    return f"{sign}{word}" if word.isalnum() else f"{sign}({word})"


def join_runs(runs: Iterable[tuple[str, Position]]) -> str:
    """Join the runs of a line or a paragraph, each a text and its position."""
    joined = ""
    pieces = []
    for position, group in groupby(runs, key=lambda run: run[1]):
        text = "".join(each for each, _ in group)
        if position == "super":
            text = raise_text(text, joined)
        elif position == "sub":
            text = lower_text(text, joined)
        pieces.append(text)
        joined = (joined + text)[-1:]
    return place_readings("".join(pieces))


def mark_reading(reading: str) -> str:
    """Mark the reading of the characters before it (ruby, furigana) for `place_readings`."""
    line = " ".join(_remove_marks(reading).split())
    return f"{_READING_START}{line}{_READING_END}" if line else ""


def place_readings(text: str) -> str:
    """Put each marked reading in parentheses after the whole word, which stays in one piece.

    Example:
        >>> place_readings(f"東京{mark_reading('とうきょう')}駅に")
        '東京駅（とうきょう）に'
    """
    if _READING_START not in text:
        return text

    def place(found: re.Match[str]) -> str:
        word = _READING.sub("", found[0])
        reading = "".join(_READING.findall(found[0]))
        return f"{word}（{reading}）" if word else f" ({reading})"

    return _remove_marks(_READINGS.sub(place, text))


def _remove_marks(text: str) -> str:
    """Remove marks of readings, which damaged text may have one by one."""
    return text.replace(_READING_START, "").replace(_READING_END, "")
