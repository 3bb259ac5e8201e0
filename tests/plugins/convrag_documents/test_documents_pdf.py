"""PDFs as people have them: forms, bookmarks, text boxes, broken words, turned pages."""

import pytest

from convrag import Document
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers import pdf
from convrag_documents.readers.pdf import read_pdf
from pdf_files import Field, Mark, Page, PdfFile, Text

YES = {"/N": {"/Yes": {}, "/Off": {}}}


def read(*pages: Page, marks=(), **others) -> Document:
    (document,) = read_pdf(PdfFile(pages, marks, **others).write())
    return document


def write_lines(*lines: str, x: float = 50, y: float = 750, size: float = 12) -> list[Text]:
    """Lines below each other."""
    return [Text(x, y - number * 1.2 * size, line, size) for number, line in enumerate(lines)]


def list_sections(document: Document) -> list[tuple[str, str]]:
    """Each heading with the line at its place."""
    return [
        (heading.text, document.text[heading.start :].partition("\n")[0])
        for heading in document.headings
    ]


class TestForms:
    def test_a_text_field_has_its_name_and_value_where_it_lies(self):
        texts = [Text(50, 700, "Fill in."), Text(50, 605, "Captain"), Text(50, 300, "Sign here.")]
        field = Field({"/FT": "/Tx", "/T": "Name", "/V": "Ortega Maria"}, (100, 600, 300, 620))
        document = read(Page(write_lines("Rules")), Page(texts, [field]))
        assert document.text == "Rules\n\nFill in.\nCaptain\nName: Ortega Maria\nSign here."
        assert document.find_page(document.text.index("Ortega")) == 2

    def test_the_name_for_people_comes_first(self):
        keys = {"/FT": "/Tx", "/T": "f1_02[0]", "/TU": "Name of the boat", "/V": "Gull"}
        assert read(Page(fields=[Field(keys)])).text == "Name of the boat: Gull"

    def test_lines_and_streams(self):
        field = Field({"/FT": "/Tx", "/T": "Address", "/V": "4 Mill Lane\r\nHull"})
        assert read(Page(fields=[field])).text == "Address: 4 Mill Lane Hull"

    def test_a_widget_inherits_from_its_field(self):
        field = Field({}, parent="name")
        parents = {"name": {"/FT": "/Tx", "/T": "Name", "/V": "Ortega"}}
        assert read(Page(fields=[field]), parents=parents).text == "Name: Ortega"

    def test_check_boxes(self):
        checked = Field({"/FT": "/Btn", "/T": "Insured", "/AS": "/Yes", "/V": "/Yes", "/AP": YES})
        numbered = Field({"/FT": "/Btn", "/T": "Sail", "/AS": "/1"}, (100, 500, 110, 510))
        empty = Field({"/FT": "/Btn", "/T": "Member", "/AS": "/Off"}, (100, 400, 110, 410))
        text = read(Page(fields=[checked, numbered, empty])).text
        assert text == "Insured: Yes\nSail: yes\nMember: no"

    def test_a_form_that_nobody_filled_in_has_no_values(self):
        box = Field({"/FT": "/Btn", "/T": "Member", "/AS": "/Off"})
        line = Field({"/FT": "/Tx", "/T": "Name"})
        assert read(Page(write_lines("Fill in."), [box, line])).text == "Fill in."

    def test_radio_buttons_say_the_chosen_one(self):
        states = [
            Field({"/AS": state}, (x, 440, x + 10, 450), "kind")
            for x, state in ((100, "/Off"), (150, "/Motor"), (200, "/Off"))
        ]
        parents = {"kind": {"/FT": "/Btn", "/T": "Kind", "/V": "/Motor", "/Ff": 1 << 15}}
        assert read(Page(fields=states), parents=parents).text == "Kind: Motor"

    def test_choices_are_shown_as_the_form_shows_them(self):
        options = [["b1", "Berth one"], ["b2", "Berth two"]]
        one = Field({"/FT": "/Ch", "/T": "Berth", "/V": "b2", "/Opt": options})
        several = {"/FT": "/Ch", "/T": "Days", "/V": ["Monday", "Friday"], "/Opt": ["Monday"]}
        text = read(Page(fields=[one, Field(several, (100, 400, 300, 420))])).text
        assert text == "Berth: Berth two\nDays: Monday, Friday"

    @pytest.mark.parametrize(
        "keys",
        [
            {"/FT": "/Tx", "/T": "Code", "/V": "s3cret", "/Ff": 1 << 13},
            {"/FT": "/Tx", "/T": "Code", "/V": "s3cret", "/F": 2},
            {"/FT": "/Btn", "/T": "Send", "/V": "s3cret", "/Ff": 1 << 16},
            {"/FT": "/Sig", "/T": "Signature", "/V": {"/Contents": "s3cret"}},
        ],
        ids=["password", "hidden", "push button", "signature"],
    )
    def test_what_nobody_sees_is_left_out(self, keys):
        assert read(Page(write_lines("Text."), [Field(keys)])).text == "Text."

    def test_a_circle_of_parents_ends(self):
        parents = {"one": {"/FT": "/Tx", "/V": "Ortega"}}
        content = PdfFile([Page(fields=[Field({}, parent="one")])], parents=parents).write()
        looped = content.replace(b"/FT /Tx", b"/FT /Tx\n/Parent 5 0 R")
        assert [document.text for document in read_pdf(looped)] == ["Ortega"]

    def test_a_form_of_xfa_alone_is_listed(self):
        field = Field({"/FT": "/Sig"})
        file = PdfFile(
            [Page(write_lines("Please wait."), [field])],
            form={"/XFA": "x"},
            root={"/NeedsRendering": True},
        )
        documents = read_pdf(file.write())
        assert next(documents).text == "Please wait."
        with pytest.raises(Unreadable, match="it is a form of XFA"):
            next(documents)


class TestBookmarks:
    def test_a_title_that_wraps_gives_later_passages_their_own_sections(self):
        first = Page(
            write_lines("A title of a section that", "goes on in a second line", size=16)
            + write_lines("Of ropes: see Knots below.", y=690)
            + write_lines("Knots", y=640, size=16)
            + write_lines("Tie them.", y=610)
        )
        second = Page(write_lines("Still about knots."))
        document = read(
            first,
            second,
            marks=[
                Mark("A title of a section that goes on in a second line", 0, ("/XYZ", 50, 766, 0)),
                Mark("Knots", 0, ("/XYZ", 50, 656, 0)),
            ],
        )
        assert list_sections(document) == [
            ("A title of a section that goes on in a second line", "A title of a section that"),
            ("Knots", "Knots"),
        ]
        last = document.find_headings(document.text.index("Still"))
        assert [heading.text for heading in last] == ["Knots"]

    @pytest.mark.parametrize(
        "fit", [("/XYZ", 50, 560, None), ("/XYZ", None, 560, 0), ("/FitH", 560), ("/FitBH", 560)]
    )
    def test_the_place_decides_where_the_words_differ(self, fit):
        texts = write_lines("Of the harbour.") + write_lines("ANCHORS AND CHAINS", y=545)
        document = read(Page(texts + write_lines("Heavy.", y=520)), marks=[Mark("Chains", 0, fit)])
        assert list_sections(document) == [("Chains", "ANCHORS AND CHAINS")]

    def test_a_named_destination_and_nested_bookmarks(self):
        texts = write_lines("Ropes") + write_lines("Hemp", y=600) + write_lines("Nylon", y=500)
        marks = [
            Mark("Ropes", 0, ("/XYZ", 50, 765, 0)),
            Mark("Hemp", 0, ("/XYZ", 50, 615, 0), level=2, name="hemp.1"),
            Mark("Nylon", 0, ("/XYZ", 50, 515, 0), level=2, name="nylon.1"),
        ]
        document = read(Page(texts), marks=marks)
        assert [(each.level, each.text) for each in document.headings] == [
            (1, "Ropes"),
            (2, "Hemp"),
            (2, "Nylon"),
        ]
        assert [line for _, line in list_sections(document)] == ["Ropes", "Hemp", "Nylon"]

    def test_bookmarks_without_a_place_stay_in_their_order(self):
        texts = write_lines("Ropes", "Of hemp.", "Knots", "Tie them.")
        marks = [Mark("Ropes", 0), Mark("Knots", 0), Mark("Of other words", 0)]
        document = read(Page(texts), Page(write_lines("More.")), marks=marks)
        assert [each.text for each in document.headings] == ["Ropes", "Knots", "Of other words"]
        assert document.headings[2].start >= document.headings[1].start

    def test_a_place_below_all_text_begins_with_the_next_page(self):
        document = read(
            Page(write_lines("Ropes.")),
            Page(write_lines("Anchors hold.")),
            marks=[Mark("Of chains", 0, ("/XYZ", 50, 60, 0))],
        )
        assert list_sections(document) == [("Of chains", "Anchors hold.")]

    def test_the_column_of_a_place(self):
        left = write_lines("Left one", "Left two", "Left three", y=700)
        right = write_lines("Right one", "Right two", "Right three", x=320, y=703)
        mark = Mark("Second", 0, ("/XYZ", 50, 698, 0))
        assert list_sections(read(Page(left + right), marks=[mark])) == [("Second", "Left two")]

    def test_a_page_that_is_turned(self):
        lines = ["Ropes are kept", "in the shed.", "Anchors", "are there too."]
        texts = [Text(40 + 20 * n, 50, line, turned=True) for n, line in enumerate(lines)]
        mark = Mark("Of other words", 0, ("/XYZ", 68, 50, 0))
        document = read(Page(texts, rotate=90), marks=[mark])
        assert document.text == "\n".join(lines)
        assert list_sections(document) == [("Of other words", "Anchors")]


class TestOrder:
    LEFT = ("Left one", "Left two", "Left three")
    RIGHT = ("Right one", "Right two", "Right three")

    def read_lines(self, *boxes: list[Text]) -> list[str]:
        return read(Page([text for box in boxes for text in box])).text.split("\n")

    def test_columns_in_the_order_of_the_file(self):
        left, right = write_lines(*self.LEFT), write_lines(*self.RIGHT, x=320)
        assert self.read_lines(left, right) == [*self.LEFT, *self.RIGHT]

    def test_boxes_that_were_drawn_from_the_bottom(self):
        footer = write_lines("Page 7", y=40)
        title = write_lines("The title of a page that is as wide as both columns", y=780)
        left, right = write_lines(*self.LEFT, y=700), write_lines(*self.RIGHT, x=320, y=700)
        assert self.read_lines(footer, right, left, title) == [
            title[0].text,
            *self.LEFT,
            *self.RIGHT,
            "Page 7",
        ]

    def test_a_box_at_the_side_that_was_drawn_first(self):
        side = write_lines("Hours", "Ten to six", x=420, y=690)
        title = write_lines("The harbour", y=750, size=18)
        text = write_lines("Ferries leave at noon.", "Boats do not.", y=700)
        assert self.read_lines(side, title, text) == [
            "The harbour",
            "Ferries leave at noon.",
            "Boats do not.",
            "Hours",
            "Ten to six",
        ]

    def test_paragraphs_of_columns_at_the_same_height_stay_in_their_columns(self):
        boxes = [
            write_lines("Right below.", x=320, y=640),
            write_lines("Left below.", y=640),
            write_lines("Right above.", x=320, y=700),
            write_lines("Left above.", y=700),
        ]
        assert self.read_lines(*boxes) == [
            "Left above.",
            "Left below.",
            "Right above.",
            "Right below.",
        ]


class TestWords:
    @pytest.mark.parametrize(
        ("lines", "text"),
        [
            (("The main docu\u00ad", "mentation."), "The main documentation."),
            (("Members of the associ- ", "ation pay."), "Members of the association pay."),
            (("The associ\u2010", "  ation pays."), "The association pays."),
            (("See the state-of-the-", "art radar."), "See the state-of-the-art radar."),
            (("It is self-ref-", "erential."), "It is self-referential."),
            (("It is well-", "known. A well-known port."), "It is well-known. A well-known port."),
            (("Pay in 2020-", "and later."), "Pay in 2020-\nand later."),
            (("The so\u00adci\u00ade\u00adty."), "The society."),
            (("The of\ufb01ce has \ufb02oors."), "The office has floors."),
        ],
    )
    def test_words_are_whole(self, lines, text):
        lines = (lines,) if isinstance(lines, str) else lines
        assert read(Page(write_lines(*lines))).text == text

    def test_pages_and_sections_are_right_after_words_were_mended(self):
        texts = write_lines("The main docu\u00ad", "men\u00adtation.", "Ropes")
        marks = [Mark("Ropes", 0, ("/XYZ", 50, 735, 0)), Mark("Knots", 1, ("/XYZ", 50, 765, 0))]
        document = read(Page(texts), Page(write_lines("Knots", "Tie them.")), marks=marks)
        assert list_sections(document) == [("Ropes", "Ropes"), ("Knots", "Knots")]
        assert document.find_page(document.text.index("Tie")) == 2

    def test_a_heading_does_not_run_into_its_text(self):
        heading = "The hours in which all of the ferries of the harbour leave"
        texts = write_lines(f"{heading} it", size=16) + write_lines("Noon is best.", y=730)
        assert read(Page(texts)).text == f"{heading} it\nNoon is best."


class TestRows:
    LEFT = (
        "Ferries leave the north quay at",
        "noon on weekdays, and at ten on",
        "Sundays if the",
        "weather is good.",
    )
    RIGHT = (
        "Boats are moored at the berths",
        "that the office gives to them.",
        "Ask there for a",
        "place of your own.",
    )

    def test_columns_that_were_drawn_row_by_row(self):
        left, right = write_lines(*self.LEFT), write_lines(*self.RIGHT, x=320)
        rows = [text for pair in zip(left, right, strict=True) for text in pair]
        text = " ".join(read(Page(rows)).text.split())
        assert text == " ".join([*self.LEFT, *self.RIGHT])

    def test_the_rows_of_a_table_stay_rows(self):
        left = write_lines("Berth", "North quay", "South quay", "East pier", "West pier")
        right = write_lines("Depth", "3 m", "4 m", "2 m", "5 m", x=320)
        rows = [text for pair in zip(left, right, strict=True) for text in pair]
        assert read(Page(rows)).text.split("\n") == [
            "Berth Depth",
            "North quay 3 m",
            "South quay 4 m",
            "East pier 2 m",
            "West pier 5 m",
        ]


class TestScans:
    def test_pages_without_a_text_layer_are_listed(self):
        pages = [Page(picture=True), Page(write_lines("Two.")), Page(), Page(picture=True)]
        documents = read_pdf(PdfFile(pages).write())
        assert next(documents).text == "Two."
        with pytest.raises(Unreadable, match="2 of its 4 pages have no text: 1, 4"):
            next(documents)

    def test_a_scan_is_listed_with_what_to_do(self):
        with pytest.raises(Unreadable, match=r"it is scanned: .* \(dataset\.reader=docling reads"):
            next(read_pdf(PdfFile([Page(picture=True)]).write()))

    def test_of_a_page_with_a_very_large_drawing_the_beginning_is_read(self, monkeypatch):
        monkeypatch.setattr(pdf, "_LARGEST_CONTENT", 200)
        texts = write_lines("The beginning.", *["More of it."] * 20)
        documents = read_pdf(PdfFile([Page(write_lines("One.")), Page(texts)]).write())
        assert next(documents).text.startswith("One.\n\nThe beginning.")
        with pytest.raises(Unreadable, match="only the beginning of 1 of its 2 pages is read"):
            next(documents)
