"""MTRAG's mark of who speaks."""

import pytest

from convrag.sdk.data.utterances import get_last_utterance, split_utterances


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Why?", ["Why?"]),
        ("|user|: Why?", ["Why?"]),
        ("|user|: What is tea?\n|user|:Why?\n", ["What is tea?", "Why?"]),
        ("What does |user|: mean?", ["What does |user|: mean?"]),
        ("|user|: Two\nlines", ["Two\nlines"]),
    ],
)
def test_utterances(text: str, found: list[str]) -> None:
    assert split_utterances(text) == found
    assert get_last_utterance(f"{text}  ") == found[-1]
