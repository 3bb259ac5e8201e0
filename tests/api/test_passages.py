"""A passage's content: its title and its text, in which no title is repeated and none is lost."""

import pytest

from convrag import Passage


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Art", "Artificial neural networks learn from examples."),
        ("IT", "ITV is a British television network."),
        ("C", "C++ has classes."),
        ("Node", "Node.js runs on a server."),
        ("X", "X-rays pass through skin."),
        ("Tea", "tea is brewed."),
        ("2", "2024 was warm."),
    ],
)
def test_a_title_stays_where_the_text_only_begins_with_its_letters(title: str, text: str) -> None:
    passage = Passage("1", text, title=title)
    assert passage.content == f"{title}\n{text}"
    assert passage.title_above == title
    assert not passage.begins_with_title(text)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Tea", "Tea is brewed."),
        ("Tea", "Tea, again tea."),
        ("Tea", "Tea\nIt is brewed."),
        ("Tea", "Tea"),
        ("Tea", "Tea. It is brewed."),
        ("Tea ", "Tea is brewed."),
        ("C++", "C++ has classes."),
        ("茶", "茶，一种饮料。"),
    ],
)
def test_a_title_with_which_the_text_begins_is_not_repeated(title: str, text: str) -> None:
    passage = Passage("1", text, title=title)
    assert passage.content == text
    assert passage.title_above == ""
    assert passage.begins_with_title(text)


@pytest.mark.parametrize("title", ["", "  "])
def test_a_passage_without_a_title_is_its_text(title: str) -> None:
    passage = Passage("1", "Tea is brewed.", title=title)
    assert passage.content == "Tea is brewed."
    assert passage.title_above == ""
    assert not passage.begins_with_title(passage.text)


def test_an_excerpt_is_compared_by_itself() -> None:
    passage = Passage("1", "It is brewed. Tea is green.", title="Tea")
    assert passage.begins_with_title("Tea is green.")
    assert not passage.begins_with_title("Teapots are round.")
