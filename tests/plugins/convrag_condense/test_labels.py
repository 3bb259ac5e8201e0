"""The labels of documents in messages and replies, as RAGBoost writes them."""

import pytest
from hypothesis import given, strategies as st

from convrag_condense.labels import (
    NumberedPieces,
    format_label,
    read_document_labels,
    write_document_labels,
)

NUMBERS = {"5": 1, "moon-2": 2, "a, b": 3}


def test_labels_before_passages() -> None:
    assert format_label(1, "5", "numbers") == "[1]"
    assert format_label(1, "5", "documents") == "[Doc_5]:"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Yes [Doc_5].", "Yes [1]."),
        ("Yes [Doc_5][Doc_moon-2].", "Yes [1][2]."),
        ("Yes [Doc_5, Doc_moon-2].", "Yes [1, 2]."),
        ("Yes [Doc_5; moon-2].", "Yes [1, 2]."),
        ("Yes [Doc_a, b].", "Yes [3]."),
        ("Yes [Doc_9].", "Yes [4]."),
        ("Yes [1] and [see Doc_5].", "Yes [1] and [see Doc_5]."),
        ("items[0] stays", "items[0] stays"),
    ],
)
def test_replies_are_read(reply: str, answer: str) -> None:
    assert read_document_labels(reply, NUMBERS) == answer


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ("Yes [1].", "Yes [Doc_5]."),
        ("Yes [1, 2]. No [2].", "Yes [Doc_5][Doc_moon-2]. No [Doc_moon-2]."),
        ("Yes [9].", "Yes [9]."),
        ("No mark.", "No mark."),
    ],
)
def test_answers_are_written(answer: str, written: str) -> None:
    documents = {number: name for name, number in NUMBERS.items()}
    assert write_document_labels(answer, documents) == written


@given(st.lists(st.sampled_from(["Yes ", "[Doc", "_5", "]", ", Doc_moon-2", "[", "\n", "."])))
def test_pieces_say_what_the_whole_reply_says(pieces: list[str]) -> None:
    passed: list[str] = []
    numbered = NumberedPieces(passed.append, NUMBERS)
    for piece in pieces:
        numbered(piece)
    numbered.release()
    assert "".join(passed) == read_document_labels("".join(pieces), NUMBERS)
    assert "" not in passed
