"""Sentences: ordinary text is split as pysbd splits it, and the time grows with the length, whatever the text."""

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convrag.sdk.sentences import (
    _NUMBERED_REFERENCE,
    _READ_AT_ONCE,
    READ_IN_FULL,
    find_sentence_spans,
    segment_line,
    split_sentences,
)

FACTS = ["The Moon is 384,400 km away.", "Dr. Smith et al. said so in 1969!", "Is it far?", "It has no air [1]."]
ODD = {
    "words": "moon ",
    "numbers": "12.5 ",
    "abbreviations": "Dr. Mr. e.g. ",
    "quotations": '"Yes." ',
    "brackets": "(a. ",
    "dots": "..... ",
    "list": "1. a 2. b 3. c ",
    "one word": "a",
    "spaces": " ",
    "open citation": " [1, ",
    "prose": " ".join(FACTS) + " ",
}


def find_texts(text: str) -> list[str]:
    return [text[start:end] for start, end in find_sentence_spans(text)]


def test_a_long_line_has_the_sentences_of_its_parts() -> None:
    line = " ".join(FACTS * 60)
    assert _READ_AT_ONCE < len(line) < READ_IN_FULL
    assert [part.strip() for part in segment_line(line)] == [
        part.strip() for part in segment_line(" ".join(FACTS))
    ] * 60


def test_a_long_text_has_them_too() -> None:
    text = "The cat sat on the roof. Then it slept! Nobody came? " * 2000
    assert len(text) > READ_IN_FULL
    assert find_texts(text) == ["The cat sat on the roof.", "Then it slept!", "Nobody came?"] * 2000
    assert split_sentences(text) == tuple(find_texts(text))


@given(st.lists(st.sampled_from([*ODD.values(), "\n", *FACTS]), max_size=60).map("".join))
def test_spans_are_in_order_and_keep_every_letter(text: str) -> None:
    spans = find_sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    kept = "".join(text[start:end] for start, end in spans)
    assert [letter for letter in kept if letter.isalnum()] == [letter for letter in text if letter.isalnum()]


@pytest.mark.parametrize("separator", ["\x1c", "\x1d", "\x1e", "\x1f"])
def test_numbers_behind_a_separator_of_records_are_read(separator: str) -> None:
    text = f"Pieces: one. {separator}2. Groups: two. 3. Order: three."
    assert next(text[a:b] for a, b in find_sentence_spans(text)) == "Pieces: one."
    assert segment_line(f"a 1. x{separator}2. y 3. z")


@pytest.mark.parametrize(
    "numbers",
    ["8" * 90, ", ".join(map(str, range(10, 60))), ",".join(map(str, range(100, 130))), "1 - " * 60, "1," * 60 + "x"],
)
@pytest.mark.parametrize("then", ["", "]", "] and", "] And"])
def test_many_numbers_in_brackets(numbers: str, then: str) -> None:
    """pysbd's own pattern took hours for them: it tried all ways to divide them."""
    text = f"It was shown.[{numbers}{then}. The end is near."
    start = time.thread_time()
    assert find_texts(text)[-1].endswith("The end is near.")
    assert time.thread_time() - start < 20


REFERENCES = st.lists(st.sampled_from([*"1 23,-.[]∯aA", "[1]", " 456", ", ", ".[", "] B"]), max_size=14).map("".join)


@given(REFERENCES)
def test_references_are_those_that_pysbd_finds(text: str) -> None:
    from pysbd.lang.english import English

    theirs, ours = re.compile(English.NUMBERED_REFERENCE_REGEX), re.compile(_NUMBERED_REFERENCE)
    for found, expected in zip(ours.finditer(text), theirs.finditer(text), strict=True):
        assert (found.span(), found[2], found[7]) == (expected.span(), expected[2], expected[7])


def test_a_passage_is_segmented_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of a grid split the same passages: pysbd takes a millisecond for each."""
    text = "This was said at noon. Dr. Smith said it once more, at two."
    expected = find_sentence_spans(text)

    class NoSegmenter:
        def __init__(self, **options: object) -> None:
            raise AssertionError("pysbd is asked again")

    monkeypatch.setattr("pysbd.Segmenter", NoSegmenter)
    assert find_sentence_spans(text) == expected
