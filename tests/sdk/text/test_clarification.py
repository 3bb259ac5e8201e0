"""Questions back: the choices that passages offer, and how they are written and read."""

import pytest

from convrag.api.passages import Passage
from convrag.sdk.text.clarification import find_choice, format_question, list_choices, read_choices

STORMS = ["Hurricane Katrina", "Hurricane Gloria", "Hurricane Isaac"]


def test_choices_are_the_documents_or_the_titles_of_one() -> None:
    titles = ("Katrina", "Gloria", "Gloria")
    titled = [Passage(f"p{n}", "The storm came.", title) for n, title in enumerate(titles)]
    assert list_choices(titled) == ["Katrina", "Gloria"]
    sections = []
    for title in ("Katrina", "Gloria"):
        metadata = {"document": "a.md", "place": f"a.md, {title!r}"}
        sections.append(Passage(title, "The storm.", title, metadata=metadata))
    assert list_choices(sections) == ["Katrina", "Gloria"]
    assert len(list_choices([Passage(f"p{n}", "Tea.", f"Tea {n}") for n in range(9)])) == 4


def test_choices_are_read_as_they_are_written() -> None:
    written = format_question("Which storm do you mean?", STORMS)
    assert written.splitlines()[2] == "1. Hurricane Katrina"
    assert read_choices(written) == STORMS
    assert format_question("Which one?", []) == "Which one?"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "It is hot.",
        "Which one do you mean?",
        "There were two storms. Shall I list them?",
        "Why? Steam.\n1. So.",
        "Which?\n\n- Katrina\n- Gloria",
        "Which?\n\n2. Katrina\n1. Gloria",
    ],
)
def test_what_is_no_question_back_of_ours(answer: str) -> None:
    assert read_choices(answer) == []


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("2", "Hurricane Gloria"),
        (" 3 ", "Hurricane Isaac"),
        ("hurricane gloria", "Hurricane Gloria"),
        ("0", ""),
        ("4", ""),
        ("-1", ""),
        ("99999999999", ""),
        ("the second one", ""),
        ("", ""),
    ],
)
def test_a_reply_is_a_choice_by_its_number_or_its_words(reply: str, choice: str) -> None:
    assert find_choice(reply, STORMS) == choice
