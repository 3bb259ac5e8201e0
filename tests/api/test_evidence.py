"""What an answer may rest on: the passage, and what the model was shown beyond it."""

import pytest

from convrag import EvidenceItem, Passage

TEA = Passage("tea", "Water is hot. It is drunk.", title="Tea")


@pytest.mark.parametrize(
    ("passage", "shown", "hint", "all_text"),
    [
        (TEA, TEA.content, False, "Tea\nWater is hot. It is drunk."),
        (TEA, "It is drunk.", False, "Tea\nWater is hot. It is drunk."),
        (TEA, "As shown above as [2].", True, "Tea\nWater is hot. It is drunk."),
        (TEA, "Tea\nWater is hot. It is drunk. Or iced.", False, "Tea\nWater is hot. It is drunk. Or iced."),
        (TEA, "Tea\nIt is drunk. Or iced.", False,
         "Tea\nWater is hot. It is drunk.\nTea\nIt is drunk. Or iced."),
        (Passage("tea", "", title="Tea"), "Published text.", False, "Published text."),
    ],
)  # fmt: skip
def test_all_text(passage: Passage, shown: str, hint: bool, all_text: str) -> None:
    assert EvidenceItem(1, passage, shown, hint).all_text == all_text
