"""Tables of all formats: each row says what each of its values is."""

from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from convrag import Document
from convrag_chunkers.section_chunker import SectionChunker
from convrag_chunkers.sentences import SentenceChunker
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader
from convrag_documents.readers.merged_cells import Cell
from convrag_documents.readers.tables import format_named_rows, format_table
from document_files import make_docx, make_paragraph, make_pptx, make_xlsx, make_zip


def read(name: str, content: bytes | str) -> str:
    reader = find_reader(FoundFile(name, name))
    assert reader is not None
    (document,) = reader.read(content.encode() if isinstance(content, str) else content)
    return document.text


def head(text: str, columns: int = 1, rows: int = 1) -> Cell:
    return Cell(text, columns, rows, is_heading=True)


def cells(*texts: str) -> list[Cell]:
    return [Cell(text) for text in texts]


ROTA = ("day", "first contact", "second contact"), ("Monday", "", "Ada"), ("Tuesday", "Ben", "")
ROTA_TEXT = "day: Monday; second contact: Ada\nday: Tuesday; first contact: Ben"
DEPTHS_TEXT = (
    "harbour: Tema; depth, summer: 3; depth, winter: 4\n"
    "harbour: Elmina; depth, summer: closed; depth, winter: closed\n"
    "harbour: Elmina; depth, summer: 5"
)


class TestRows:
    def test_empty_cells_are_left_out_with_their_columns(self):
        assert format_table(cells(*row) for row in ROTA) == ROTA_TEXT

    def test_a_caption_stands_above(self):
        rows = [[head("port"), head("berths")], cells("Tema", "12")]
        assert format_table(rows, "Ports\n of Ghana") == "Ports of Ghana\nport: Tema; berths: 12"

    def test_names_on_two_levels_are_joined_and_merged_cells_repeated(self):
        rows = [
            [head("harbour", rows=2), head("depth", columns=2)],
            [head("summer"), head("winter")],
            cells("Tema", "3", "4"),
            [Cell("Elmina", rows=2), Cell("closed", columns=2)],
            cells("5", ""),
        ]
        assert format_table(rows) == DEPTHS_TEXT
        unmarked = [[cell._replace(is_heading=False) for cell in row] for row in rows]
        assert format_table(unmarked) == DEPTHS_TEXT

    def test_a_unit_below_a_name_belongs_to_it(self):
        rows = [
            [head("harbour"), head("depth")],
            [head(""), head("in metres")],
            cells("Tema", "3"),
        ]
        assert format_table(rows) == "harbour: Tema; depth, in metres: 3"

    def test_headings_of_rows(self):
        infobox = [
            [head("Ghana", columns=2)],
            [head("Capital"), Cell("Accra")],
            [head("Sea"), Cell("")],
        ]
        assert format_table(infobox) == "Ghana\nCapital: Accra\nSea"
        form = [[head("Name"), Cell("Jon"), head("Age"), Cell("40")]]
        assert format_table(form) == "Name: Jon; Age: 40"
        sales = [[Cell(""), head("2023"), head("2024")], [head("Sales"), *cells("5", "6")]]
        assert format_table(sales) == "Sales; 2023: 5; 2024: 6"

    def test_labels_with_a_colon_are_headings_of_rows(self):
        rows = [("Name:", "Ada"), ("Role:", "cook"), ("Since:", "spring")]
        assert list(format_named_rows(rows)) == ["Name: Ada", "Role: cook", "Since: spring"]

    def test_a_form_has_its_labels_in_the_first_column(self):
        rows = [("Name", "Jon Smith"), ("Office", "Tema"), ("Pay", "1200")]
        lines = format_table(cells(*row) for row in rows).splitlines()
        assert lines == ["Name: Jon Smith", "Office: Tema", "Pay: 1200"]
        prices = [("item", "price"), ("saw", "12"), ("drill", "on request")]
        assert next(format_named_rows(prices)) == "item: saw; price: 12"
        ports = [("port", "country"), ("Tema", "Ghana"), ("Axim", "Ghana")]
        assert format_table(cells(*row) for row in ports).startswith("port: Tema; country: Ghana")

    def test_a_merged_cell_of_the_first_rows_is_no_name(self):
        rows = [[Cell("North", rows=2), Cell("Tema")], cells("Axim"), cells("South", "Elmina")]
        assert format_table(rows) == "North | Tema\nNorth | Axim\nSouth | Elmina"

    def test_a_heading_across_the_table_belongs_to_the_rows_below_it(self):
        rows = [
            [head("day"), head("who")],
            [head("Week 12", columns=2)],
            cells("Monday", "Ada"),
            [head("Week 13", columns=2)],
            cells("Monday", "Ben"),
            [Cell("All times are local.", columns=2)],
            [head("Week 14", columns=2)],
        ]
        assert format_table(rows).splitlines() == [
            "Week 12; day: Monday; who: Ada",
            "Week 13; day: Monday; who: Ben",
            "All times are local.",
            "Week 14",
        ]

    def test_nothing_is_lost_of_a_table_that_is_a_head_alone(self):
        assert format_table([cells("Deadline", "3 March")]) == "Deadline | 3 March"
        assert format_table([[head("a", 2), head("b")]]) == "a | b"
        assert format_table([[head("a"), head("b")], [head("c"), head("d")]]) == "a: c; b: d"

    def test_long_names_are_written_once_in_full(self):
        name = "the depth " * 20
        lines = format_table([[head("port"), head(name)], cells("Tema", "3")]).splitlines()
        assert lines[0] == f"port | {name.strip()}"
        assert lines[1].startswith("port: Tema; the depth the depth")
        assert lines[1].endswith("…: 3")
        assert len(lines[1]) < 130

    def test_names_that_are_repeated_on_a_page_are_no_row(self):
        rows = [("port", "berths"), ("Tema", "12"), ("port", "berths"), ("Axim", "3")]
        assert list(format_named_rows(rows)) == ["port: Tema; berths: 12", "port: Axim; berths: 3"]

    def test_a_table_in_a_cell_is_written_once_below_its_row(self):
        inner = ("port: Elmina; berths: 14",)
        rows = [[Cell("left"), Cell("right", tables=inner)], cells("more", "text")]
        assert format_table(rows) == "left | right\nport: Elmina; berths: 14\nmore | text"
        assert format_table([[Cell("", tables=inner)]]) == "port: Elmina; berths: 14"


class TestSeveralTables:
    @pytest.mark.parametrize(
        ("rows", "lines"),
        [
            (  # other columns
                ["port,berths", "Tema,12", ",", "ship,owner,crew", "Gull,Ada,3"],
                ["port: Tema; berths: 12", "ship: Gull; owner: Ada; crew: 3"],
            ),
            (  # a number below a name
                ["port,berths", "Tema,12", ",", "ship,crew", "Gull,14"],
                ["port: Tema; berths: 12", "ship: Gull; crew: 14"],
            ),
            (  # a title between them
                ["name,role", "Ada,cook", ",", "Ships,", "ship,port", "Gull,Tema"],
                ["name: Ada; role: cook", "Ships", "ship: Gull; port: Tema"],
            ),
            (  # a gap within a table
                ["port,berths", "Tema,12", ",", "Axim,3"],
                ["port: Tema; berths: 12", "port: Axim; berths: 3"],
            ),
            (  # a gap within a table of texts
                ["name,role", "Ada,cook", "Eve,mate", ",", "Ben,mate", "Cid,boy"],
                [
                    "name: Ada; role: cook",
                    "name: Eve; role: mate",
                    "name: Ben; role: mate",
                    "name: Cid; role: boy",
                ],
            ),
        ],
    )
    def test_below_each_other(self, rows: list[str], lines: list[str]):
        assert list(format_named_rows(row.split(",") for row in rows)) == lines
        assert read("a.csv", "\n".join(rows)).splitlines() == lines
        width = max(len(row.split(",")) for row in rows)
        sheet = [(row.split(",") + [""] * width)[:width] for row in rows]
        assert read("a.xlsx", make_xlsx({"S": sheet})).splitlines()[2:] == lines

    def test_next_to_each_other(self):
        sheet = [
            ["port", "berths", "", "ship", "crew"],
            ["Tema", 12, "", "Gull", 3],
            ["", "", "", "Kite", 4],
        ]
        assert read("a.xlsx", make_xlsx({"S": sheet})).splitlines()[2:] == [
            "port: Tema; berths: 12",
            "ship: Gull; crew: 3",
            "ship: Kite; crew: 4",
        ]

    def test_a_column_of_numbers_after_a_gap_is_of_the_same_table(self):
        sheet = [["item", "price", "", "spring", "autumn"], ["saw", 12, "", 5, 14]]
        text = read("a.xlsx", make_xlsx({"S": sheet}))
        assert text.endswith("item: saw; price: 12; spring: 5; autumn: 14")


class TestHostileTables:
    @pytest.mark.parametrize(
        "rows",
        [
            [[Cell("x" * 1000, 10**9, 10**9), Cell("y")], *[cells("z")] * 20_000],
            [[Cell("x", 1, 10**9)] * 1000, *[cells("z")] * 20_000],
            [[Cell("", 10**9, 10**9)]] * 20_000,
        ],
    )
    def test_merged_cells_are_bounded(self, rows: list[list[Cell]]):
        own = sum(100 + 10 * len(cell.text) for row in rows for cell in row)
        assert len(format_table(rows)) < 20_000 + 2 * own

    def test_a_merged_cell_that_is_not_repeated_keeps_its_place(self):
        """The values after it would move to other columns."""
        long = Cell("x" * 5000, rows=10**6)
        rows = [[head("a"), head("b")], [long, Cell("1")], *[cells(f"{n}") for n in range(3000)]]
        last = format_table(rows).splitlines()[-1]
        assert last.endswith("b: 2999")


def make_word_row(*texts: str, properties: str = "") -> str:
    inner = "".join(f"<w:tc>{make_paragraph(text)}</w:tc>" for text in texts)
    return f"<w:tr>{properties}{inner}</w:tr>"


class TestWord:
    def read(self, *rows: str) -> str:
        return read("a.docx", make_docx(f"<w:tbl>{''.join(rows)}</w:tbl>"))

    def test_empty_cells(self):
        assert self.read(*(make_word_row(*row) for row in ROTA)) == ROTA_TEXT

    def test_merged_cells(self):
        def cell(text: str, properties: str) -> str:
            return f"<w:tc><w:tcPr>{properties}</w:tcPr>{make_paragraph(text)}</w:tc>"

        restart, go_on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
        wide = '<w:gridSpan w:val="2"/>'
        rows = [
            f"<w:tr>{cell('harbour', restart)}{cell('depth', wide)}</w:tr>",
            f"<w:tr>{cell('', go_on)}{cell('summer', '')}{cell('winter', '')}</w:tr>",
            make_word_row("Tema", "3", "4"),
            f"<w:tr>{cell('Elmina', restart)}{cell('closed', wide)}</w:tr>",
            f"<w:tr>{cell('', go_on)}{cell('5', '')}{cell('', '')}</w:tr>",
        ]
        assert self.read(*rows) == DEPTHS_TEXT

    def test_rows_that_word_repeats_have_the_names(self):
        mark = "<w:trPr><w:tblHeader/></w:trPr>"
        assert self.read(
            make_word_row("port", "2023", properties=mark), make_word_row("Tema", "5")
        ) == ("port: Tema; 2023: 5")

    def test_a_row_that_begins_further_to_the_right(self):
        before = '<w:trPr><w:gridBefore w:val="1"/></w:trPr>'
        rows = [make_word_row(*ROTA[0]), make_word_row("Ada", "Ben", properties=before)]
        assert self.read(*rows) == "first contact: Ada; second contact: Ben"

    @pytest.mark.parametrize(
        "control",
        ["<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>", "<w:customXml>{}</w:customXml>"],
    )
    def test_content_controls_keep_the_order(self, control: str):
        held = control.format(f"<w:tc>{make_paragraph('Deadline')}</w:tc>")
        row = f"<w:tr>{held}<w:tc>{make_paragraph('3 March')}</w:tc></w:tr>"
        assert self.read(row) == "Deadline | 3 March"
        rows = control.format(make_word_row("Tema", "5"))
        assert self.read(make_word_row("port", "berths"), rows) == "port: Tema; berths: 5"

    def test_deleted_rows_are_left_out(self):
        deleted = make_word_row("Axim", "7", properties="<w:trPr><w:del/></w:trPr>")
        rows = [make_word_row("port", "berths"), deleted, make_word_row("Tema", "5")]
        assert self.read(*rows) == "port: Tema; berths: 5"

    def test_a_table_in_a_table(self):
        inner = make_word_row("port", "berths") + make_word_row("Elmina", "14")
        table = f"<w:tbl>{inner}</w:tbl>"
        row = f"<w:tr><w:tc>{make_paragraph('left')}</w:tc><w:tc>{make_paragraph('right')}{table}</w:tc></w:tr>"
        assert self.read(row) == "left | right\nport: Elmina; berths: 14"

    def test_tables_nested_deep_are_read(self):
        deep = make_paragraph("deep")
        for _ in range(150):  # XML of more than 500 levels is refused
            deep = f"<w:tbl><w:tr><w:tc>{deep}</w:tc></w:tr></w:tbl>"
        assert read("a.docx", make_docx(deep)) == "deep"


class TestPowerPoint:
    def read(self, rows: str, properties: str = "") -> str:
        table = f"<p:graphicFrame><a:tbl>{properties}{rows}</a:tbl></p:graphicFrame>"
        return read("a.pptx", make_pptx([table], ""))

    def make_row(self, *texts: str, **attributes: str) -> str:
        return f"<a:tr>{''.join(self.make_cell(text) for text in texts)}</a:tr>"

    def make_cell(self, text: str, attributes: str = "") -> str:
        return f"<a:tc {attributes}><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:tc>"

    def test_empty_cells(self):
        assert self.read("".join(self.make_row(*row) for row in ROTA)) == ROTA_TEXT

    def test_merged_cells(self):
        cell = self.make_cell
        rows = [
            cell("harbour", 'rowSpan="2"') + cell("depth", 'gridSpan="2"') + cell("", 'hMerge="1"'),
            cell("", 'vMerge="1"') + cell("summer") + cell("winter"),
            cell("Tema") + cell("3") + cell("4"),
            cell("Elmina", 'rowSpan="2"') + cell("closed", 'gridSpan="2"') + cell("", 'hMerge="1"'),
            cell("", 'vMerge="1"') + cell("5") + cell(""),
        ]
        assert self.read("".join(f"<a:tr>{row}</a:tr>" for row in rows)) == DEPTHS_TEXT

    def test_a_first_row_that_is_marked_has_the_names(self):
        rows = self.make_row("port", "2023") + self.make_row("Tema", "5")
        assert self.read(rows) == "port | 2023\nTema | 5"
        assert self.read(rows, '<a:tblPr firstRow="1"/>') == "port: Tema; 2023: 5"


class TestOpenDocument:
    def read(self, rows: str) -> str:
        spaces = " ".join(f'xmlns:{name}="urn:{name}"' for name in ("office", "text", "table"))
        body = f"<office:body><office:text><table:table>{rows}</table:table></office:text></office:body>"
        content = f"<office:document-content {spaces}>{body}</office:document-content>"
        return read("a.odt", make_zip({"content.xml": content}))

    def make_cell(self, text: str, attributes: str = "") -> str:
        paragraphs = "".join(f"<text:p>{line}</text:p>" for line in text.split("\n"))
        return f"<table:table-cell {attributes}>{paragraphs}</table:table-cell>"

    def make_row(self, *texts: str) -> str:
        inner = "".join(self.make_cell(text) for text in texts)
        return f"<table:table-row>{inner}</table:table-row>"

    def test_empty_cells(self):
        assert self.read("".join(self.make_row(*row) for row in ROTA)) == ROTA_TEXT

    def test_paragraphs_and_items_of_a_cell_are_words_apart(self):
        items = "".join(
            f"<text:list-item><text:p>{text}</text:p></text:list-item>"
            for text in ("bread", "milk")
        )
        row = self.make_cell("Harbour\nNorth quay") + (
            f"<table:table-cell><text:list>{items}</text:list></table:table-cell>"
        )
        assert self.read(f"<table:table-row>{row}</table:table-row>") == (
            "Harbour North quay | bread milk"
        )

    def test_merged_cells(self):
        cell = self.make_cell
        rows, columns = "table:number-rows-spanned", "table:number-columns-spanned"
        covered = "<table:covered-table-cell/>"
        first = cell("harbour", f'{rows}="2"') + cell("depth", f'{columns}="2"') + covered
        second = covered + cell("summer") + cell("winter")
        fourth = cell("Elmina", f'{rows}="2"') + cell("closed", f'{columns}="2"') + covered
        fifth = covered + cell("5") + cell("")
        parts = [first, second, cell("Tema") + cell("3") + cell("4"), fourth, fifth]
        lines = [f"<table:table-row>{part}</table:table-row>" for part in parts]
        assert self.read("".join(lines)) == DEPTHS_TEXT
        marked = f"<table:table-header-rows>{lines[0]}{lines[1]}</table:table-header-rows>"
        assert self.read(marked + "".join(lines[2:])) == DEPTHS_TEXT

    def test_repeated_cells_keep_the_columns(self):
        empty = '<table:table-cell table:number-columns-repeated="2"/>'
        rows = self.make_row("a", "b", "c") + (
            f"<table:table-row>{empty}{self.make_cell('3')}</table:table-row>"
        )
        assert self.read(rows) == "c: 3"

    def test_a_table_in_a_table(self):
        inner = self.make_row("port", "berths") + self.make_row("Elmina", "14")
        cell = f"<table:table-cell><text:p>right</text:p><table:table>{inner}</table:table></table:table-cell>"
        row = f"<table:table-row>{self.make_cell('left')}{cell}</table:table-row>"
        assert self.read(row) == "left | right\nport: Elmina; berths: 14"


class TestHtml:
    def make_table(self, rows: Any, tag: str = "td") -> str:
        lines = ["".join(f"<{tag}>{text}</{tag}>" for text in row) for row in rows]
        return "".join(f"<tr>{line}</tr>" for line in lines)

    def test_empty_cells(self):
        table = f"<table>{self.make_table(ROTA)}</table>"
        assert read("a.html", table) == ROTA_TEXT
        marked = self.make_table(ROTA[:1], "th") + self.make_table(ROTA[1:])
        assert read("a.html", f"<table>{marked}</table>") == ROTA_TEXT

    def test_merged_cells(self):
        rows = (
            "<tr><th rowspan=2>harbour<th colspan=2>depth<tr><th>summer<th>winter"
            "<tr><td>Tema<td>3<td>4<tr><td rowspan=2>Elmina<td colspan=2>closed<tr><td>5<td>"
        )
        assert read("a.html", f"<table>{rows}</table>") == DEPTHS_TEXT

    def test_the_foot_comes_last_and_the_caption_first(self):
        table = (
            "<table><caption>Ports</caption><thead><tr><td>port<td>2023</thead>"
            "<tfoot><tr><th>Total<td>5</tfoot><tbody><tr><td>Tema<td>5</table>"
        )
        assert read("a.html", table) == "Ports\nport: Tema; 2023: 5\nport: Total; 2023: 5"

    def test_lists_and_tables_in_cells(self):
        table = "<table><tr><th>what<th>how<tr><td><ul><li>bread<li>milk</ul><td>-</table>"
        assert read("a.html", table) == "what: bread milk; how: -"
        nested = "<table><tr><th>a<th>b<tr><td>x<td>y<table><tr><th>port<th>n<tr><td>Axim<td>3</table></table>"
        assert read("a.html", nested) == "a: x; b: y\nport: Axim; n: 3"

    def test_a_table_of_the_layout_is_text(self):
        inner = self.make_table(ROTA)
        page = (
            f"<table><tr><td><h1>News</h1><p>One.</p></td><td><table>{inner}</table></td></table>"
        )
        assert read("a.html", page) == f"News\n\nOne.\n\n{ROTA_TEXT}"
        marked = (
            f"<table role=presentation>{self.make_table([['Menu', 'Home'], ['a', 'b']])}</table>"
        )
        assert read("a.html", marked) == "Menu | Home\na | b"

    def test_tables_nested_deep_take_no_time(self):
        for start in ("<table><tr><td>", "<table><tr><th>a<td>"):
            assert read("a.html", start * 5000 + "deep").endswith("deep")


class TestMarkdown:
    def test_empty_cells(self):
        lines = [f"| {' | '.join(row)} |" for row in ROTA]
        table = "\n".join([lines[0], "|---|:--|--:|", *lines[1:]])
        assert read("a.md", table) == ROTA_TEXT
        assert read("a.md", table.replace("\n|", "\n").removeprefix("|")) == ROTA_TEXT

    def test_headings_after_a_table_keep_their_places(self):
        text = "# A\n| **port** | `n` |\n|---|---|\n| Tema | |\ntext\n\n## B\n\nend"
        reader = find_reader(FoundFile("a.md", "a.md"))
        assert reader is not None
        (document,) = reader.read(text.encode())
        assert document.text == "# A\n\nport: Tema\n\ntext\n\n## B\n\nend"
        starts = [document.text[heading.start :][:4] for heading in document.headings]
        assert starts == ["# A\n", "## B"]

    def test_signs_within_cells(self):
        table = "| a \\| b | c |\n|---|---|\n| x<br>y | [z](q) | more |"
        assert read("a.md", table) == "a | b: x y; c: [z](q); more"
        assert read("a.md", "| # | c |\n|---|---|\n| 1 | 2 |") == "#: 1; c: 2"

    def test_tables_in_lists_and_quotations(self):
        text = "- item\n\n    | a | b |\n    |---|---|\n    | 1 | 2 |\n\n> | c | d |\n> |---|---|\n> |  | 4 |\n"
        assert read("a.md", text).rstrip() == "- item\n\n    a: 1; b: 2\n\n> d: 4"

    def test_tables_of_html(self):
        table = "<table>\n<tr><th>a</th><th>b</th></tr>\n\n<tr><td></td><td>2</td></tr>\n</table>"
        assert read("a.md", f"Text\n\n{table}\n\nend") == "Text\n\nb: 2\n\nend"
        layout = '<table><tr><td><img src="a.png"></td></tr></table>\n'
        for text in (layout, f"```\n{table}\n```\n", "<table>\n" * 5000):
            assert read("a.md", text) == text

    @pytest.mark.parametrize(
        "text",
        [
            "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n",
            "text\n\n    | a | b |\n    |---|---|\n",
            "| a | b |\n|---|\n| 1 | 2 |\n",
            "Title\n---\ntext | bar\n",
        ],
    )
    def test_other_lines_are_as_they_were(self, text: str):
        assert read("a.md", text) == text

    def test_tables_are_those_of_a_parser(self):
        parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
        for text in (
            "a | b\n-|-\nc | d",
            "|a|\n|-|\n|b|",
            "|a|b|\n|-|\n|c|",
            "a\n-\nb",
            "|a\n|-\n|b",
        ):
            has_table = any(token.type == "table_open" for token in parser.parse(text))
            assert (
                "---" not in read("a.md", text) and "-|" not in read("a.md", text)
            ) or not has_table
            assert has_table == (": " in read("a.md", text)), text

    def test_notebooks(self):
        cell = '{"cell_type": "markdown", "source": "|a|b|\\n|-|-|\\n||2|"}'
        assert read("a.ipynb", f'{{"cells": [{cell}]}}') == "b: 2"


def make_ruled_pdf(*pages: list[tuple[str, ...]], above: str = "", joined: bool = False) -> bytes:
    """A PDF with a ruled table on each page; joined texts reach over the cells of a row."""
    writer = PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    for rows in pages:
        page = writer.add_blank_page(600, 800)
        made = DictionaryObject({NameObject(key): NameObject(value) for key, value in font.items()})
        fonts = DictionaryObject({NameObject("/F1"): made})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        drawn = [f"BT /F1 12 Tf 50 750 Td ({above}) Tj ET"] if above else []
        width = len(rows[0])
        for number, row in enumerate(rows):
            top = 700 - 20 * number
            drawn += [f"{50 + 100 * column} {top - 20} 100 20 re S" for column in range(width)]
            texts = [" ".join(row)] if joined else row
            for column, text in enumerate(texts):
                if text:
                    drawn.append(f"BT /F1 12 Tf {55 + 100 * column} {top - 15} Td ({text}) Tj ET")
        drawn.append("BT /F1 12 Tf 50 100 Td (Below it.) Tj ET")
        stream = DecodedStreamObject()
        stream.set_data("\n".join(drawn).encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    file = BytesIO()
    writer.write(file)
    return file.getvalue()


class TestRuledPdf:
    def test_empty_cells(self):
        text = read("a.pdf", make_ruled_pdf(list(ROTA), above="A rota."))
        assert text.split("\n", 1) == ["A rota.", f"{ROTA_TEXT}\nBelow it."]

    def test_a_table_goes_on_on_the_next_page(self):
        first = [("port", "state"), ("Tema", "open")]
        text = read("a.pdf", make_ruled_pdf(first, [("Axim", "closed"), ("Elmina", "open")]))
        rows = [line for line in text.splitlines() if "port" in line]
        assert rows == [
            "port: Tema; state: open",
            "port: Axim; state: closed",
            "port: Elmina; state: open",
        ]
        repeated = read("a.pdf", make_ruled_pdf(first, [first[0], ("Elmina", "open")]))
        assert repeated.count("port") == 2

    def test_boxes_around_text_are_no_table(self):
        text = read("a.pdf", make_ruled_pdf([("One box.",)]))
        assert text == "One box.\nBelow it."


class TestChunks:
    ROWS = "\n".join(
        f"harbour: Quay {n}; note: It is open. Ask there. He knows; depth in metres: {3 * n}"
        for n in range(100)
    )

    @pytest.mark.parametrize("chunker", [SentenceChunker(tokens=60), SectionChunker(tokens=60)])
    def test_rows_stay_whole(self, chunker: Any):
        passages = chunker.chunk(Document("a", f"Harbours\n\n{self.ROWS}\n\nThe end."))
        lines = {line for passage in passages for line in passage.text.split("\n")}
        assert set(self.ROWS.split("\n")) <= lines

    @pytest.mark.parametrize("chunker", [SentenceChunker(tokens=60), SectionChunker(tokens=60)])
    def test_a_row_that_is_too_long_is_cut_between_its_fields(self, chunker: Any):
        row = "; ".join(f"depth in month {n}: {n} m at low water" for n in range(60))
        passages = chunker.chunk(Document("a", row))
        assert len(passages) > 5
        for passage in passages:
            assert passage.text.startswith("depth in month ")
            assert passage.text.endswith((" m at low water", " m at low water;"))
