import re

import pytest
from hypothesis import given, strategies as st

from convrag_ginger.llm_detector import read_tagged_texts
from ginger_toys import detect


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("a <IN>b</IN> c <IN>d</IN>", ["b", "d"]),
        ("<IN>two\nlines</IN>", ["two\nlines"]),
        ("<in> b </ IN >", ["b"]),
        ("<IN>a <IN>b</IN> c</IN>", ["a b c"]),  # nested: the outermost
        ("<IN></IN> <IN> \n </IN>", []),
        ("a</IN> b", []),
        ("<IN>One. Two.", ["One."]),  # never closed: its sentence
        ("<IN>a <IN>b</IN>", ["a", "b"]),
        ("<IN>a", ["a"]),
        ("no tags", []),
        ("", []),
    ],
)
def test_tags(reply: str, expected: list[str]) -> None:
    assert read_tagged_texts(reply) == expected


@given(
    st.text(alphabet="ab. \n<>/IN", max_size=60),
    st.lists(st.sampled_from(["<IN>", "</IN>", "a. ", "b\n"])),
)
def test_no_reply_leaves_a_tag_in_a_nugget(noise: str, pieces: list[str]) -> None:
    for nugget in read_tagged_texts(noise + "".join(pieces)):
        assert nugget == nugget.strip() != ""
        assert not re.search(r"<\s*/?\s*IN\s*>", nugget, re.IGNORECASE) or "<" in noise


def test_repeated_text_is_found_one_after_the_other() -> None:
    nuggets = detect("<IN>tea</IN> and <IN>tea</IN> and <IN>tea</IN>", "tea and tea and milk")
    assert [(nugget.start, nugget.end) for nugget in nuggets] == [(0, 3), (8, 11)]
