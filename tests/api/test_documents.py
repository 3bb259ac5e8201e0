"""Where a character of a document stands: under which headings, on which page."""

from convrag import Document
from convrag.sdk.types import Heading

TEXT = "# Leave\nIntro.\n## Parental\nWeeks.\n### Both\nAll.\n## Sick\nNine.\n"
LEAVE = Document(
    "leave.md",
    TEXT,
    headings=(
        Heading(0, 1, "Leave"),
        Heading(15, 2, "Parental"),
        Heading(34, 3, "Both"),
        Heading(48, 2, "Sick"),
    ),
    pages=(0, 34),
)


def _name_headings(position: int) -> list[str]:
    return [heading.text for heading in LEAVE.find_headings(position)]


def test_headings_above_a_character() -> None:
    assert _name_headings(TEXT.index("Intro")) == ["Leave"]
    assert _name_headings(TEXT.index("## Parental")) == ["Leave", "Parental"]
    assert _name_headings(TEXT.index("All.")) == ["Leave", "Parental", "Both"]
    assert _name_headings(TEXT.index("Nine")) == ["Leave", "Sick"]


def test_a_skipped_level_and_a_text_before_the_first_heading() -> None:
    document = Document(
        "a", "x\n### C\ny\n## B\nz", headings=(Heading(2, 3, "C"), Heading(10, 2, "B"))
    )
    assert document.find_headings(0) == ()
    assert [heading.text for heading in document.find_headings(9)] == ["C"]
    assert [heading.text for heading in document.find_headings(15)] == ["B"]


def test_pages() -> None:
    assert (LEAVE.find_page(0), LEAVE.find_page(33), LEAVE.find_page(34), LEAVE.find_page(60)) == (
        1,
        1,
        2,
        2,
    )
    assert Document("a", "text").find_page(2) is None
