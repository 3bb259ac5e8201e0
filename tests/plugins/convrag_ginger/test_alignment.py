import re

import pytest
from hypothesis import given, settings, strategies as st

from convrag_ginger.alignment import Aligner, keep_outermost

KETTLE = "A kettle whistles because steam is forced through its lid. It was patented in 1890."


def test_outermost_spans() -> None:
    assert keep_outermost([(5, 7), (0, 9), (3, 12), (12, 13), (0, 2)]) == [
        (0, 9),
        (3, 12),
        (12, 13),
    ]


@pytest.mark.parametrize(
    ("copy", "how", "there"),
    [
        ("steam is forced", "exact", "steam is forced"),
        ("Steam  IS\nforced", "normalised", "steam is forced"),
        ("steam is forcd thru its lid", "fuzzy", "steam is forced through its lid"),
        ("kettle whistle", "fuzzy", "kettle whistles"),
    ],
)
def test_copies_are_found(copy: str, how: str, there: str) -> None:
    place = Aligner(KETTLE, 0.85).align(copy)
    assert place is not None
    assert (place.match, KETTLE[place.start : place.end]) == (how, there)


@pytest.mark.parametrize(
    "copy", ["tea is green", "", "...", KETTLE * 3, "the quick brown fox jumps over the lazy dog"]
)
def test_what_is_not_there_is_not_found(copy: str) -> None:
    assert Aligner(KETTLE, 0.9).align(copy) is None
    assert Aligner("", 0.9).align(copy) is None


def test_typography_is_no_difference() -> None:
    text = "It’s “hot”\u00a0– ﬁrst\tof all. Straße."
    for copy in ('it\'s "hot" - first of all', "STRASSE"):
        place = Aligner(text, 1.0).align(copy)
        assert place is not None
        assert place.match == "normalised"
        assert text[place.start : place.end] in ("It’s “hot”\u00a0– ﬁrst\tof all", "Straße")


def test_soft_hyphens_are_no_difference() -> None:
    text = "Der Donau\u00addampfer fährt am Sonn\u200btag."
    place = Aligner(text, 1.0).align("Donaudampfer fährt am Sonntag")
    assert place is not None
    assert (place.start, place.end, place.match) == (4, len(text) - 1, "normalised")


def test_a_word_is_not_found_inside_another() -> None:
    assert Aligner("training is in it", 0.9).align("in") == (12, 14, "exact")


@settings(max_examples=200)
@given(st.text(alphabet="aB é’'-. \n1", min_size=1, max_size=40), st.data())
def test_a_literal_copy_is_always_found(text: str, data: st.DataObject) -> None:
    words = [match.span() for match in re.finditer(r"\w+", text)]
    if not words:
        return
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    start, end = words[first][0], words[last][1]
    for copy in (text[start:end], text[start:end].upper()):
        place = Aligner(text, 0.9).align(copy)
        assert place is not None
        assert (
            text[place.start : place.end].casefold().split() == text[start:end].casefold().split()
        )
