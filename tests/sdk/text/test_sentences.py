"""Sentences end where a reader ends them, in texts of any script, and the time grows with the
length.
"""

import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from convrag.sdk.text.sentences import find_sentence_spans, split_sentences

FACTS = [
    "The Moon is 384,400 km away.",
    "Dr. Smith et al. said so in 1969!",
    "Is it far?",
    "It has no air [1].",
]
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


def measure(call: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    call(text)
    return time.thread_time() - start


def test_a_long_text_has_the_sentences_of_its_parts() -> None:
    text = "The cat sat on the roof. Then it slept! Nobody came? " * 2000
    assert find_texts(text) == ["The cat sat on the roof.", "Then it slept!", "Nobody came?"] * 2000
    assert split_sentences(text) == tuple(find_texts(text))
    assert find_texts(" ".join(FACTS * 600)) == FACTS * 600


@given(st.lists(st.sampled_from([*ODD.values(), "\n", *FACTS]), max_size=60).map("".join))
def test_spans_are_in_order_and_keep_every_letter(text: str) -> None:
    spans = find_sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    kept = "".join(text[start:end] for start, end in spans)
    assert [letter for letter in kept if letter.isalnum()] == [
        letter for letter in text if letter.isalnum()
    ]


@pytest.mark.parametrize(
    "sentences",
    [
        [
            "Dr. Smith came at 5 p.m.",
            "He said “Stop.”",
            "See Fig. 3 of the U.S. Army, e.g. No. 5 (p. 7).",
            "Yes...",
        ],
        [
            "The answer is no.",
            "It costs 3.14 for J. R. Smith et al. (2020).",
            "It is in Sect. 3.2.",
            "Go to example.org.",
        ],
        [
            "Put it into ~/.pgpass.",
            "Node.js reads ./.env first.",
            "Max. 3 files of approx. 5 MB are kept.",
        ],
        [
            "1. The first item.",
            "It goes on.",
            "2) The second,\nwrapped",
            "- a point",
            "# A heading",
            "| a | row. |",
        ],
        [
            "Der § 5 Abs. 2 gilt z. B. bis zum 31. März 2025 bzw. am 1. Mai.",
            "M. Dupont est là !",
            "« Qui ? »",
            "¿Qué?",
        ],
        ["It came in 5.", "Dann endete der 2. Weltkrieg und der 3. Mann kam."],
        ["茶は八十度で入れる。", "「はい。」", "本当！？", "मैं हूँ।", "كيف حالك؟", "Ինչ։", "ምን።"],
        ["A title\n", "\nA paragraph.\r\n", "\r\nAnother\r\nthat is wrapped"],
        ["He came .", "''He saw . ''", "She went.[1][2, 3]", "Then so."],  # tokenised text
    ],
)
def test_sentences_end_where_a_reader_ends_them(sentences: list[str]) -> None:
    listed = [each.strip() for each in sentences]
    text = "\n".join(sentences) if sentences[0].startswith("1.") else " ".join(sentences)
    assert find_texts(text) == listed


WRAPPED = (
    "Hotel costs are paid up to 140 euros a night within\nGermany and 180 euros abroad, if a manager agrees before",
    "Die Kosten einer Übernachtung im Hotel werden bis zu 140\nEuro erstattet, im Ausland bis zu 180 Euro.",
    "A rule of the\nHouse holds.",
    "- an item that goes\n  on here",
)
LINES = {
    "Opening hours\nPrices\nHow to find us": 3,
    "# Costs of\nTravel": 2,
    "name: Ann Smith\ncity: Bonn": 2,
    "a.\nB is": 2,
}


@pytest.mark.parametrize(("text", "sentences"), [*((each, 1) for each in WRAPPED), *LINES.items()])
def test_a_wrapped_line_ends_no_sentence_and_a_line_of_its_own_does(
    text: str, sentences: int
) -> None:
    assert len(find_texts(text)) == sentences
    assert split_sentences(text) == tuple(" ".join(each.split()) for each in find_texts(text))


@pytest.mark.parametrize("part", [*ODD.values(), "within\n", "a: b\n", "1. Mai ", "| a "])
def test_the_time_grows_with_the_length(part: str) -> None:
    assert measure(find_sentence_spans, part * (400_000 // len(part))) < 5
