"""What is read of each format: text, headings, pages."""

import json
import zipfile
from email.message import EmailMessage
from io import BytesIO

import pytest

from convrag.api.documents import Document
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader
from document_files import (
    make_docx,
    make_epub,
    make_paragraph,
    make_pdf,
    make_pptx,
    make_shape,
    make_xlsx,
)


def read_all(name: str, content: bytes | str) -> list[Document]:
    reader = find_reader(FoundFile(name, name))
    assert reader is not None
    return list(reader.read(content.encode() if isinstance(content, str) else content))


def read(name: str, content: bytes | str) -> Document:
    (document,) = read_all(name, content)
    return document


def headings(document: Document) -> list[tuple[int, str]]:
    """Level and text of each heading; where it begins, its first word must stand."""
    for heading in document.headings:
        assert document.text[heading.start :].lstrip(" #*_[`").startswith(heading.text.split()[0])
    return [(heading.level, heading.text) for heading in document.headings]


def pages(document: Document) -> list[str]:
    ends = [*document.pages[1:], len(document.text)]
    return [
        document.text[start:end].strip() for start, end in zip(document.pages, ends, strict=True)
    ]


def refusal(name: str, content: bytes | str) -> str:
    with pytest.raises(Unreadable) as caught:
        read_all(name, content)
    return caught.value.reason


class TestText:
    def test_lines_that_were_broken_within_a_sentence(self):
        text = "Parental leave lasts eighteen weeks, whoever\nof the parents takes it.\nask HR.\n\nA list:\none\ntwo\n"
        joined = text.replace("whoever\nof", "whoever of")
        assert read("a.txt", text).text == joined

    def test_line_ends_of_any_system(self):
        assert read("a.txt", "One.\r\nTwo.\rThree.\n").text == "One.\nTwo.\nThree.\n"

    @pytest.mark.parametrize(
        ("text", "encoding"),
        [
            ("Größe und Übermut sind déjà vu.", "latin-1"),
            ("Urlaub für Mütter", "latin-1"),
            ("“Smart” quotes – and €uro", "cp1252"),
            ("plain, in sixteen bits", "utf-16"),
            ("ohne Marke, aber mit ü", "utf-16-le"),
            ("thirty-two bits", "utf-32"),
            ("with a mark: é", "utf-8-sig"),
            ("これは日本語の文章です。休暇は二十日あります。", "shift-jis"),
            ("VPNです。これは文章です。社内のVPNは便利です。", "euc-jp"),
            ("员工每年有二十天的带薪休假。", "gb18030"),
            ("휴가는 일 년에 이십 일입니다.", "euc-kr"),
            ("Отпуск длится двадцать дней в году. Наш VPN работает.", "koi8-r"),
            ("Наш VPN работает. Скачайте Client и войдите.", "cp1251"),
            ("Ελληνικά κείμενα για άδεια", "iso-8859-7"),
            ("Zażółć gęślą jaźń, proszę pana o więcej", "cp1250"),
        ],
    )
    def test_encodings(self, text, encoding):
        assert read("a.txt", text.encode(encoding)).text == text

    def test_the_first_letter_that_is_not_ascii_may_come_late(self):
        text = "A line of ASCII.\n" * 20_000 + "Un café très serré, s'il vous plaît."
        assert read("a.txt", text.encode("latin-1")).text == text

    def test_a_damaged_letter_does_not_make_utf_8_another_encoding(self):
        content = ("Größe " * 50).encode() + b"\xff" + "Größe".encode()
        assert read("a.txt", content).text == "Größe " * 50 + "\ufffdGröße"

    @pytest.mark.parametrize(
        "content",
        [bytes(range(256)) * 20, b"\x7fELF\x02\x01\x01\x00\x00" * 100, b"\x01\x02\x03" * 9],
    )
    def test_binary_files(self, content):
        assert refusal("a.txt", content) == "it is binary, not text"


class TestMarkdown:
    def test_headings(self):
        text = (
            "---\ntitle: 'The handbook'\n# no heading\n---\n# Leave #\n\nIntro.\n\nParental\nleave\n-----\n\n"
            "```sh\n# a comment\n```\n\n    # code\n\n##  *Sick* [leave](x.md) `now` ##\n#none\n\nBig\n===\n"
        )
        document = read("a.md", text)
        assert document.title == "The handbook"
        expected = [(1, "Leave"), (2, "Parental leave"), (2, "Sick leave now"), (1, "Big")]
        assert [(each.level, each.text) for each in document.headings] == expected
        assert [document.text[each.start :].split("\n")[0] for each in document.headings] == [
            "# Leave #",
            "Parental leave",
            "##  *Sick* [leave](x.md) `now` ##",
            "Big",
        ]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("A.\n\n<!-- c -->\n\nB.\n", "A.\n\nB.\n"),
            ("A.\n<!-- c -->\nB.\n", "A.\n\nB.\n"),  # it ends the paragraph
            ("<!-- c -->\n\n# A\n", "# A\n"),
            ("A:\n\n<!-- c -->\n```sh\nls\n```\n", "A:\n\n```sh\nls\n```\n"),
            ("A:\n<!-- c -->\n```sh\nls\n```\n", "A:\n\n```sh\nls\n```\n"),
            ("One <!-- c --> two<!-- c -->, three <!-- c -->\nfour.\n", "One two, three four.\n"),
            ("# A <!-- c -->\n\n- <!-- c --> One.\n", "# A\n\n- One.\n"),
            ("A.\n\n<!-- c\n\n# c\n-->\n\nB.\n", "A.\n\nB.\n"),
            ("One <!-- c\nc\nc --> two.\n", "One two.\n"),
            ("<!-- c --><!-- c\nc --> One <!-- c --> two.\n", "One two.\n"),
            ("<!--> One.\n", "One.\n"),
        ],
    )
    def test_comments_are_no_text(self, text: str, expected: str) -> None:
        assert read("a.md", text).text == expected
        cell = {"cell_type": "markdown", "source": text}
        assert read("a.ipynb", json.dumps({"cells": [cell]})).text.strip() == expected.strip()

    @pytest.mark.parametrize(
        "text",
        [
            "```html\n<!-- c -->\n```\n",
            "~~~~\n~~~\n<!-- c\n-->\n~~~~\n",
            "1. A:\n\n    ```html\n    <!-- c -->\n    ```\n",
            "- ```html\n  <!-- c -->\n  ```\n",
            "A:\n\n    <p>\n\n    <!-- c -->\n",
            "A `<!-- c -->` and ``<!-- ` -->`` stay.\n",
            "A \\<!-- c --> stays.\n",
            "<!-- One.\n\nTwo.\n",  # unclosed
            "--> One <!-- two.\n\nThree -->.\n",  # unclosed in its paragraph
        ],
    )
    def test_code_and_unclosed_comments_are_text(self, text: str) -> None:
        assert read("a.md", text).text == text

    def test_headings_after_comments(self) -> None:
        text = "<!-- c -->\n# A\n\n<!-- # c\n# c -->\n\nB <!-- c -->\n===\n"
        assert headings(read("a.md", text)) == [(1, "A"), (1, "B")]

    @pytest.mark.parametrize(
        ("front", "title", "text"),
        [
            (
                "title: npm-dedupe\ndescription: >-\n  Reduce\n  duplication\n",
                "npm-dedupe",
                "Reduce duplication.\n\n# A\n",
            ),
            ("description: Is it 'so'?\ntags: [x, 2025]\n", "", "Is it 'so'?\n\n# A\n"),
            ("date: 2025-01-01\nbase: !ENV X\n", "", "# A\n"),
            ("title: Boats: a guide\ntags: [a, b]\n", "Boats: a guide", "# A\n"),  # no YAML
            ("title: @home\n", "@home", "# A\n"),
            ("title: 'It's late'\n", "It's late", "# A\n"),
            ("title: 50% off: now\n\tindented: x\n- a\n", "50% off: now", "# A\n"),
            ("title:\tBoats\n", "Boats", "# A\n"),
            ("title: Boats\nlist:\n\t- a\n", "Boats", "# A\n"),
            ("title: [Boats, Ferries]\n", "Boats, Ferries", "# A\n"),
            ("title:\n  - Boats\n", "Boats", "# A\n"),
            ("title: {en: Boats}\n", "", "# A\n"),
            ("title: null\n", "", "# A\n"),
            ("title: ~\ndescription:\n", "", "# A\n"),
            ("title:\n", "", "# A\n"),
            ("title: 'null'\n", "null", "# A\n"),
            ("title: 2026\n", "2026", "# A\n"),
            ("title: 1.10\n", "1.10", "# A\n"),
            ("title: 2026-03-01\n", "2026-03-01", "# A\n"),
            ("title: |\n  Two\n  lines\n", "Two lines", "# A\n"),
            ("title: {{ page.title }}\nlayout: x\n", "", "# A\n"),
            ("title: *missing\n", "", "# A\n"),
            ("A rule above a text.\n", "", "---\nA rule above a text.\n---\n# A\n"),
        ],
    )
    def test_front_matter_is_no_text_but_for_its_description(
        self, front: str, title: str, text: str
    ) -> None:
        document = read("a.md", f"---\n{front}---\n# A\n")
        assert (document.title, document.text) == (title or document.title, text)
        assert headings(document)[-1][1] == "A"

    @pytest.mark.parametrize(
        "text",
        [
            "---\n\nNote: this is a draft.\n\n---\n\n# Leave\n",
            "---\nNote: this is a draft.\n\n---\n\n# Leave\n",
            "---\n\nNote: this is a draft.\n---\n",
            "---\n---\n# Leave\n\nNote: this is a draft.\n\n---\nMore\n",
            "---\n# Leave\n\nWeeks: 18\n\n---\n",
            "---\nNote: this is: a draft.\n---\n# Leave\n",
        ],
    )
    def test_a_text_that_begins_with_a_rule_is_read_whole(self, text: str) -> None:
        assert read("a.md", text).text == text

    @pytest.mark.parametrize("front", ["\ntitle: A\nlayout: x\n", "title: A\n# comment\n\n"])
    def test_front_matter_with_a_title_may_have_blank_lines_around_it(self, front: str) -> None:
        document = read("a.md", f"---\n{front}---\nText.\n")
        assert (document.title, document.text) == ("A", "Text.\n")

    @pytest.mark.parametrize("mark", ["--- ", "---\t", "---"])
    def test_front_matter_after_a_mark_with_blanks(self, mark: str) -> None:
        document = read("a.md", f"{mark}\ntitle: A\n{mark}\nText.\n")
        assert (document.title, document.text) == ("A", "Text.\n")

    def test_front_matter_after_a_byte_order_mark_and_with_windows_line_ends(self) -> None:
        document = read("a.md", b"\xef\xbb\xbf---\r\ntitle: A\r\n---\r\nText.\r\n")
        assert (document.title, document.text) == ("A", "Text.\n")

    @pytest.mark.parametrize(
        ("front", "title"),
        [
            ('title = "Boats: a guide"\ntags = ["a"]\n[extra]\nx = 1\n', "Boats: a guide"),
            ("title = 'A'\ndate = 2026-03-01\n", "A"),
            ("title = Boats\nx = [\n", "Boats"),  # no TOML
            ("title = 2026\n", "2026"),
            ("draft = true\n", ""),
        ],
    )
    def test_front_matter_in_toml(self, front: str, title: str) -> None:
        document = read("a.md", f"+++\n{front}+++\n\nText.\n")
        assert (document.title, document.text) == (title, "\nText.\n")

    @pytest.mark.parametrize("block", ["A text.\n+++\nMore.\n", "+++\n", "a = 1\n", "a = [\n+++\n"])
    def test_plus_signs_that_are_no_front_matter(self, block: str) -> None:
        lines = read("a.md", f"+++\n{block}").text.split()
        assert lines == ["+++", *block.split()]

    def test_a_long_front_matter(self) -> None:
        """Its lines are read; a parser would take minutes for the keys of the second one."""
        front = "title: A: B\ntags:\n" + "- a\n" * 10_000
        document = read("a.md", f"---\n{front}---\nText.\n")
        assert (document.title, document.text) == ("A: B", "Text.\n")
        front = f"title = 'A'\n{'a.' * 40_000}a = 1\n"
        assert read("a.md", f"+++\n{front}+++\nText.\n").title == "A"

    def test_long_values_of_front_matter_are_cut(self) -> None:
        document = read("a.md", f"---\ntitle: {'a ' * 20_000}\n---\nText.\n")
        assert len(document.title) <= 2_000
        document = read("a.md", f"---\ntitle: [{'a, ' * 10_000}]\n---\nText.\n")
        assert len(document.title) <= 2_000

    def test_front_matter_with_a_comment(self) -> None:
        assert read("a.md", "---\n# Edit this.\n\nlayout: home\n---\nText.\n").text == "Text.\n"

    def test_front_matter_that_nests_too_deep_is_text(self) -> None:
        text = f"---\na: {'[' * 20_000}\n---\nText.\n"
        assert read("a.md", text).text == text

    def test_front_matter_with_aliases_takes_no_room(self) -> None:
        """Written out, the title would have 10 ** 12 letters."""
        lines = ["a0: &a0 [xxxxxxxxxx]"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
        front = "\n".join([*lines, "title: *a11", "description: *a11"])
        document = read("a.md", f"---\n{front}\n---\nText.\n")
        assert (document.title, document.text) == ("", "Text.\n")

    def test_a_short_underline_is_a_line_of_its_own(self) -> None:
        document = read("a.md", "Leave\n--\nIt lasts.\n\n==\n---\n")
        assert document.text == "Leave\n--\nIt lasts.\n\n==\n---\n"
        assert headings(document)[0] == (2, "Leave")

    def test_each_paragraph_is_a_line_and_nothing_moves(self):
        text = (
            "Parental leave lasts\neighteen weeks\n\n- one item\n  goes on\n- another\n1. first\n\n> quoted\n> on\n\n"
            "hard  \nbreak\\\nhere\n\n```\ncode\nlines\n```\nafter\nit\n***\nend\n"
        )
        joined = (
            "Parental leave lasts eighteen weeks\n\n- one item   goes on\n- another\n1. first\n\n> quoted\n> on\n\n"
            "hard  \nbreak\\\nhere\n\n```\ncode\nlines\n```\nafter it\n***\nend\n"
        )
        assert read("a.md", text).text == joined
        assert len(joined) == len(text)

    def test_a_fence_that_is_not_closed(self):
        assert read("a.md", "# A\n\n~~~\n# no heading\n```\n# nor this\n").headings[1:] == ()


class TestHtml:
    def test_a_page(self):
        document = read(
            "a.html",
            "<!doctype html><html><head><title>Travel | Acme</title><style>p {}</style></head><body>"
            "<nav><a href=/>Home</a></nav><h1>Travel</h1><p>Trains <b>before</b>\n planes.<br>Always.</p>"
            "<script>var a = '<p>no</p>';</script><div hidden>no</div><h3>Cars <i>and</i> bikes</h3>"
            "<ul><li>one<li>two</ul><pre>x\n  y</pre><p>5 &lt; 6 &amp; caf&eacute;</p></body></html>",
        )
        assert document.title == "Travel | Acme"
        assert document.text == (
            "Travel\n\nTrains before planes.\nAlways.\n\nCars and bikes\n\n- one\n- two\n\nx\n  y\n\n5 < 6 & café"
        )
        assert headings(document) == [(1, "Travel"), (3, "Cars and bikes")]

    def test_code_stands_between_fences_and_typed_prose_does_not(self):
        page = (
            "<pre><code>x = 1\n\n  y</code></pre><div class='highlight-sh notranslate'><div class=highlight><pre>ls"
            "</pre></div></div><pre class=screen>$ ls</pre><pre>RFC 1\n\nHosts talk.</pre><pre><code> </code></pre>"
        )
        assert read("a.html", page).text == (
            "```\nx = 1\n\n  y\n```\n\n```\nls\n```\n\n```\n$ ls\n```\n\nRFC 1\n\nHosts talk."
        )

    def test_tables(self):
        table = "<table><thead><tr><th>item<th>price</thead><tr><td><p>laptop</p><p>new</p></td><td>1200</td></table>"
        assert read("a.html", table).text == "item: laptop new; price: 1200"
        layout = (
            "<table><tr><td><h1>News</h1><p>One.</p><p>Two.</p></td><td><ul><li>x</ul></td></table>"
        )
        assert read("a.html", layout).text == "News\n\nOne.\n\nTwo.\n\n- x"
        terms = "<dl><dt>-q<dt>--quiet: <dd> <p>Say <b>less</b>.<p>More.<dt>-v<dd><ul><li>a</dl><dl><dt>toc</dl>"
        assert read("a.html", terms).text == "-q\n--quiet: Say less.\n\nMore.\n\n-v:\n\n- a\n\ntoc"

    def test_text_between_a_term_and_its_definition(self) -> None:
        terms = "<dl><dt>Leave</dt>(paid)<dd>Eighteen weeks.</dd></dl>"
        assert read("a.html", terms).text == "Leave\n(paid)\nEighteen weeks."

    def test_the_main_part_of_a_page(self):
        page = "<div>Log in</div><main><p>Leave lasts.<a class=headerlink>¶</a></p></main><footer>Imprint</footer>"
        assert read("a.html", page).text == "Leave lasts."

    def test_the_encoding_that_a_page_declares(self):
        page = '<meta charset="iso-8859-5"><p>Отпуск'.encode("iso-8859-5")
        assert read("a.html", page).text == "Отпуск"
        wrong = '<meta charset="iso-8859-5"><p>Größe'.encode()
        assert read("a.html", wrong).text == "Größe"


class TestPdf:
    def test_a_bookmark_begins_with_the_number_of_its_section(self):
        """It began behind the number, which then ended the passage before; a mention in prose was
        taken for it.
        """
        lines = [
            ["1 Leave", "The sick leave is below.", "It lasts.", "1.2 Sick leave", "Nine."],
            ["Leave"],
        ]
        document = read("a.pdf", make_pdf(lines, [("Leave", 0), ("Sick leave", 0), ("Leave", 1)]))
        found = [document.text[heading.start :].partition("\n")[0] for heading in document.headings]
        assert found == ["1 Leave", "1.2 Sick leave", "Leave"]

    def test_pages_and_bookmarks(self):
        lines = [
            "Parental leave",
            "It lasts eighteen weeks for every single paren-",
            "tal couple in the whole",
            "company.",
        ]
        document = read(
            "a.pdf",
            make_pdf([lines, ["Sick leave", "Tell us."], []], [("Sick  LEAVE", 1), ("End", 2)]),
        )
        assert pages(document) == [
            "Parental leave\nIt lasts eighteen weeks for every single parental couple in the whole company.",
            "Sick leave\nTell us.",
            "",
        ]
        assert document.page_name == "page"
        assert [(each.level, each.text) for each in document.headings] == [
            (1, "Sick LEAVE"),
            (1, "End"),
        ]
        assert document.text[document.headings[0].start :].startswith("Sick leave")

    def test_a_full_line_goes_on_before_a_capital(self):
        lines = [
            "Die Elternzeit dauert achtzehn Wochen und steht beiden ganzen",
            "Eltern zu, auch nacheinander.",
            "Reisen",
        ]
        assert read("a.pdf", make_pdf([lines])).text == f"{lines[0]} {lines[1]}\nReisen"

    def test_the_title_counts_where_it_stands_in_the_text(self):
        assert (
            read("a.pdf", make_pdf([["Leave at Acme", "It lasts."]], title="Leave  at acme")).title
            == "Leave at acme"
        )
        assert (
            read(
                "a.pdf", make_pdf([["Leave at Acme", "It lasts."]], title="Microsoft Word - draft7")
            ).title
            == ""
        )

    def test_scanned(self):
        assert refusal("a.pdf", make_pdf([[], []])) == (
            "it is scanned: its pages have no text layer (dataset.reader=docling reads it)"
        )


class TestWord:
    def test_headings_lists_and_tables(self):
        row = "<w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>"
        rows = [
            row.format(*map(make_paragraph, cells)) for cells in (("item", "price"), ("a", "1"))
        ]
        notes = f'<w:footnote w:type="separator"><w:p/></w:footnote><w:footnote>{make_paragraph("A note.")}</w:footnote>'
        document = read(
            "a.docx",
            make_docx(
                make_paragraph("Handbook", "Titel")
                + make_paragraph("Leave", "berschrift1")
                + make_paragraph("Parental", "", '<w:outlineLvl w:val="1"/>')
                + "<w:p><w:r><w:t>Eighteen</w:t></w:r><w:del><w:r><w:delText>ten</w:delText></w:r></w:del>"
                '<w:ins><w:r><w:t xml:space="preserve"> weeks</w:t><w:tab/><w:t>paid.</w:t></w:r></w:ins></w:p>'
                + make_paragraph("one", "", "<w:numPr/>")
                + make_paragraph("two", "", "<w:numPr/>")
                + f"<w:sdt><w:sdtContent>{make_paragraph('Own', 'Mine')}</w:sdtContent></w:sdt>"
                + f"<w:tbl>{''.join(rows)}</w:tbl>",
                {"word/footnotes.xml": f'<w:footnotes xmlns:w="w">{notes}</w:footnotes>'},
            ),
        )
        assert document.title == "Handbook"
        assert document.text == (
            "Handbook\n\nLeave\n\nParental\n\nEighteen weeks paid.\n\n- one\n- two\n\nOwn\n\nitem: a; price: 1\n\n"
            "A note."
        )
        assert headings(document) == [(1, "Leave"), (2, "Parental"), (1, "Own")]
        assert document.pages == ()

    def test_pages_are_those_that_word_saw_last(self):
        turn = "<w:lastRenderedPageBreak/>"
        body = (
            make_paragraph("first")
            + f"<w:p><w:r>{turn}<w:t>second</w:t></w:r></w:p>"
            + f"<w:p><w:r><w:t>begins there, </w:t>{turn}<w:t>ends here</w:t></w:r></w:p>"
            + make_paragraph("third")
        )
        assert pages(read("a.docx", make_docx(body))) == [
            "first",
            "second\n\nbegins there, ends here",
            "third",
        ]


class TestPowerPoint:
    def test_slides(self):
        cell = "<a:tc><a:p><a:r><a:t>a</a:t></a:r></a:p></a:tc>"
        table = f"<p:graphicFrame><a:tbl><a:tr>{cell}</a:tr></a:tbl></p:graphicFrame>"
        shapes = (
            make_shape("Wear a helmet.\nWear boots.")
            + make_shape("Safety", "title")
            + make_shape("7", "sldNum")
        )
        document = read(
            "a.pptx",
            make_pptx(
                [shapes, f"<p:grpSp>{make_shape('Numbers', 'ctrTitle')}</p:grpSp>{table}"], "Hi."
            ),
        )
        assert pages(document) == [
            "Safety\n\nWear a helmet.\nWear boots.\n\nNotes:\nHi.",
            "Numbers\n\na",
        ]
        assert document.page_name == "slide"
        assert headings(document) == [(1, "Safety"), (1, "Numbers")]


class TestTables:
    def test_rows_have_the_names_of_their_columns(self):
        text = 'item,price,note\nlaptop,"1,200","two\nlines, ""quoted"""\nscreen,300,\n'
        assert (
            read("a.csv", text).text
            == 'item: laptop; price: 1,200; note: two lines, "quoted"\nitem: screen; price: 300'
        )

    @pytest.mark.parametrize("delimiter", [";", "\t", "|"])
    def test_delimiters(self, delimiter):
        rows = [["name", "city"], ["Ann", "Bonn, Germany"], ["Bob", "Ulm, Germany"]]
        text = "\n".join(delimiter.join(row) for row in rows)
        assert (
            read("a.csv", text).text
            == "name: Ann; city: Bonn, Germany\nname: Bob; city: Ulm, Germany"
        )

    def test_without_names(self):
        assert read("a.csv", "1,2\n3,4\n").text == "1 | 2\n3 | 4"
        assert read("a.csv", "apples\npears\n").text == "apples\npears"

    def test_what_stands_above_the_names(self):
        assert (
            read("a.csv", "Prices 2026,\n,\nitem,price\nlaptop,1200\n").text
            == "Prices 2026\nitem: laptop; price: 1200"
        )

    def test_sheets_are_pages(self):
        document = read(
            "a.xlsx",
            make_xlsx(
                {"Prices": [["item", "price"], ["laptop", 1200.0]], "None": [], "Pläne": [["x"]]}
            ),
        )
        assert pages(document) == ["Prices\n\nitem: laptop; price: 1200", "", "Pläne\n\nx"]
        assert document.page_name == "sheet"
        assert headings(document) == [(1, "Prices"), (1, "Pläne")]


class TestBooks:
    def test_chapters_in_the_order_of_reading(self):
        document = read(
            "a.epub",
            make_epub(["<h1>One</h1><p>It<a id='x'/> begins.</p>", "<h2>Two</h2><p>It ends.</p>"]),
        )
        assert (document.title, document.text) == ("A book", "One\n\nIt begins.\n\nTwo\n\nIt ends.")
        assert headings(document) == [(1, "One"), (2, "Two")]

    def test_protected(self):
        assert (
            refusal("a.epub", make_epub(["x"], encryption="OPS/text/ch 0.xhtml"))
            == "it is protected against copying (DRM)"
        )


class TestJsonl:
    def test_a_document_a_line(self):
        lines = [
            {"title": "T", "text": "One.", "url": "http://a"},
            "Two.",
            {"question": "Why?", "answer": "So.", "n": 3},
        ]
        found = read_all("a.jsonl", "\n\n".join(map(json.dumps, lines)))
        assert [(each.id, each.title, each.text, each.url) for each in found] == [
            ("1", "T", "One.", "http://a"),
            ("3", "", "Two.", ""),
            ("5", "", "question: Why?\nanswer: So.\nn: 3", ""),
        ]

    def test_broken_lines_do_not_hide_the_others(self):
        reader = find_reader(FoundFile("a.jsonl", "a.jsonl"))
        found = reader.read(b'{"text": "One."}\n{"text"\n{"text": NaN}\n{"text": "Four."}\n')
        assert [next(found).id, next(found).id] == ["1", "4"]
        with pytest.raises(
            Unreadable, match=r"line 2: this is not JSON: .* \(and 1 more like it\)"
        ):
            next(found)


class TestNotebooks:
    def test_cells(self):
        cells = [
            {"cell_type": "markdown", "source": ["\n# Data\n", "We load\n", "it."]},
            {"cell_type": "code", "source": "# no heading\nload()", "outputs": [{"text": "noise"}]},
            {"cell_type": "code", "source": []},
        ]
        document = read("a.ipynb", json.dumps({"cells": cells, "nbformat": 4}))
        assert document.text == "# Data\nWe load it.\n\n```\n# no heading\nload()\n```"
        assert headings(document) == [(1, "Data")]


class TestOthers:
    def test_opendocument(self):
        spaces = " ".join(f'xmlns:{each}="urn:{each}"' for each in ("office", "text", "table"))
        body = (
            '<text:h text:outline-level="2">Travel</text:h><text:section><text:p>Up to<text:s/>140 <text:span>euros'
            "</text:span>.<text:line-break/>Ask.</text:p></text:section><text:list><text:list-item><text:p>one</text:p>"
            "</text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>a</text:p>"
            "</table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>"
        )
        file = BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            whole = f"<office:d {spaces}><office:body><office:text>{body}</office:text></office:body></office:d>"
            archive.writestr("content.xml", whole)
        document = read("a.odt", file.getvalue())
        assert document.text == "Travel\n\nUp to 140 euros.\nAsk.\n\n- one\n\na | b"
        assert headings(document) == [(2, "Travel")]

    def test_rich_text(self):
        assert (
            read("a.rtf", rb"{\rtf1\ansi\ansicpg1252 Gr\'fc\'dfe.\par {\b Two}.}").text
            == "Grüße.\n\nTwo."
        )
        assert refusal("a.rtf", "nothing") == "this is no RTF"

    def test_mail_and_what_is_attached(self):
        mail = EmailMessage()
        mail["Subject"], mail["From"] = "Kettles", "Ann <a@b.example>"
        mail.set_content("<h1>Lid</h1><p>It is clean.</p>", subtype="html")
        assert "Lid\n\nIt is clean." in read("a.eml", mail.as_bytes()).text
        mail.add_attachment(b"x", maintype="application", subtype="pdf", filename="bill.pdf")
        assert refusal("a.eml", mail.as_bytes()) == "what is attached is not read: bill.pdf"

    @pytest.mark.parametrize(
        "mail",
        [
            b"\nThe kettle is clean.\n",
            b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nThe kettle is clean.\n--b--\n",
        ],
    )
    def test_a_mail_whose_text_has_no_header_of_its_own(self, mail: bytes) -> None:
        assert read("a.eml", mail).text == "The kettle is clean."

    def test_json(self):
        rows = [
            {"question": "How old?", "answer": {"years": 7, "sure": ["yes"]}},
            {"text": "Plain."},
        ]
        assert [(each.id, each.text) for each in read_all("a.json", json.dumps(rows))] == [
            ("1", "question: How old?\nanswer.years: 7\nanswer.sure: yes"),
            ("2", "Plain."),
        ]
        assert read("a.json", '{"office": {"city": "Ulm"}}').text == "office.city: Ulm"
        assert "this is not JSON" in refusal("a.json", "{NaN}")

    @pytest.mark.parametrize("name", ["a.py", "a.yaml", "a.rs", "a.toml"])
    def test_code_keeps_its_lines(self, name):
        code = "def boil(water, lid_is_closed_and_the_stove_is_hot=True):\n    return water\n"
        assert read(name, code).text == code
        assert "a line has 5,001 characters" in refusal(name, f"{code}{'x' * 5001}\n")

    def test_lines_with_no_numbers_are_left_out_one_by_one(self):
        assert refusal("a.jsonl", '{"text": "a"}\n{"x": NaN}\n{"x": Infinity}\n').startswith(
            "line 2: this is not JSON"
        )

    def test_pages_of_a_pdf_without_a_text_layer(self):
        from pypdf import PdfReader, PdfWriter
        from pypdf.generic import DictionaryObject, NameObject

        writer = PdfWriter(PdfReader(BytesIO(make_pdf(["One page."]))))
        scan = writer.add_blank_page(100, 100)
        scan[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/XObject"): DictionaryObject()}
        )
        writer.add_blank_page(100, 100)
        file = BytesIO()
        writer.write(file)
        assert refusal("a.pdf", file.getvalue()) == "1 of its 3 pages have no text: 2"
