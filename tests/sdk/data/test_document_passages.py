"""Passages cut from a document know where they stand in it."""

from convrag import Document
from convrag.sdk.data.document_passages import cut_passage, cut_passages
from convrag.sdk.types import Heading

TEXT = "# Leave\n\nAll of us.\n\n## Parental leave\n\nTen weeks.\n\n## Sick leave\n\nAs long as it takes.\n"
HEADINGS = tuple(
    Heading(TEXT.index(line), line.count("#"), line.strip("# "))
    for line in ("# Leave", "## Parental leave", "## Sick leave")
)
LEAVE = Document(
    "policies/leave.md",
    TEXT,
    url="https://example.org/leave",
    headings=HEADINGS,
    pages=(0, TEXT.index("Ten")),
)


def test_a_passage_knows_its_place() -> None:
    start = TEXT.index("Ten")
    passage = cut_passage(LEAVE, start, start + 10, 3)
    assert (passage.id, passage.text, passage.title) == (
        "policies/leave.md#3",
        "Ten weeks.",
        "Leave > Parental leave",
    )
    assert passage.url == "https://example.org/leave"
    assert passage.metadata == {
        "document": "policies/leave.md",
        "start": start,
        "end": start + 10,
        "headings": ["Leave", "Parental leave"],
        "page": 2,
        "place": "policies/leave.md, 'Parental leave', page 2",
    }


def test_the_title_is_the_documents_and_then_the_headings() -> None:
    def title(document: Document) -> str:
        return cut_passage(document, 0, 4, 1).title

    heading = (Heading(0, 1, "Leave"),)
    assert title(Document("a/b.md", "text", "Leave", headings=heading)) == "Leave"
    assert title(Document("a/b.md", "text", "Handbook", headings=heading)) == "Handbook > Leave"
    assert title(Document("a/b.md", "text", "Handbook")) == "Handbook"
    assert title(Document("a/b.md", "text")) == "b.md"


def test_a_passage_stands_under_what_all_of_it_stands_under() -> None:
    first, last = TEXT.index("Ten"), TEXT.index("As long")
    both = cut_passage(LEAVE, first, last, 1)
    assert (both.title, both.metadata["headings"]) == ("Leave", ["Leave"])
    assert both.metadata["place"] == "policies/leave.md, 'Leave', page 2"
    parts = Document(
        "parts.md", "# A\n\n# B\n", "Parts", headings=(Heading(0, 1, "A"), Heading(5, 1, "B"))
    )
    whole = cut_passage(parts, 0, 9, 1)
    assert whole.title == "Parts"
    assert "headings" not in whole.metadata
    assert whole.metadata["place"] == "parts.md"


def test_a_page_has_the_name_that_its_document_gives_it() -> None:
    slides = Document("talk.pptx", "one\ntwo", pages=(0, 4), page_name="slide")
    assert [each.metadata["place"] for each in cut_passages(slides, [(0, 3), (4, 7)])] == [
        "talk.pptx, slide 1",
        "talk.pptx, slide 2",
    ]


def test_a_heading_is_a_line_that_can_be_read() -> None:
    heading = Heading(0, 1, "Parental\n  leave " + "and more " * 10_000)
    passage = cut_passage(Document("leave.md", "text", headings=(heading,)), 0, 4, 1)
    assert passage.title.startswith("Parental leave and more")
    assert passage.title.endswith("…")
    assert len(passage.title) <= 100
    nameless = cut_passage(Document("leave.md", "text", headings=(Heading(0, 1, " \n"),)), 0, 4, 1)
    assert (nameless.title, nameless.metadata["place"]) == ("leave.md", "leave.md")


def test_many_passages_are_those_cut_one_by_one() -> None:
    spans = [(place, place + 9) for place in range(0, len(TEXT) - 9, 4)]
    assert list(cut_passages(LEAVE, spans)) == [
        cut_passage(LEAVE, *span, n) for n, span in enumerate(spans, 1)
    ]


def test_a_heading_without_text_is_one_with_its_first_subheading() -> None:
    text = "# Leave\n\nParental leave\n---\n\nTen weeks.\n"
    headings = (Heading(0, 1, "Leave"), Heading(9, 2, "Parental leave"))
    document = Document("leave.md", text, headings=headings)
    assert cut_passage(document, 0, len(text), 1).title == "Leave > Parental leave"
    further = (*headings, Heading(text.index("Ten"), 3, "Weeks"))
    assert cut_passage(Document("leave.md", text, headings=further), 0, len(text), 1).title == (
        "Leave > Parental leave > Weeks"
    )
    said = "# Leave\n\nBoth of:\n\nParental leave\n---\n"
    after = (Heading(0, 1, "Leave"), Heading(said.index("Par"), 2, "Parental leave"))
    assert cut_passage(Document("leave.md", said, headings=after), 0, len(said), 1).title == "Leave"
