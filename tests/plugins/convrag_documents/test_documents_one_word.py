"""Text that is one word, whatever stands within it; text boxes, notes, exponents, readings."""

import json

import pytest

from convrag.api.documents import Document
from convrag.sdk.types import Heading
from convrag_chunkers.section_chunker import SectionChunker
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader
from convrag_documents.readers.tidy_text import Edit, edit_document, tidy_document
from document_files import make_docx, make_paragraph, make_pptx, make_zip

SPLIT = "Don\u00adau\u200bdampfer oﬃce"
WHOLE = "Donaudampfer office"


def read(name: str, content: bytes | str) -> Document:
    reader = find_reader(FoundFile(name, name))
    assert reader is not None
    (document,) = reader.read(content.encode() if isinstance(content, str) else content)
    return document


def make_odt(body: str, styles: str = "", members: dict[str, str | bytes] | None = None) -> bytes:
    names = ("office", "text", "table", "draw", "style", "svg", "xlink")
    spaces = " ".join(f'xmlns:{name}="urn:{name}"' for name in names)
    content = (
        f"<office:document-content {spaces}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:text>{body}</office:text></office:body>"
        "</office:document-content>"
    )
    return make_zip({"content.xml": content, **(members or {})})


def make_run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", SPLIT),
        ("a.md", SPLIT),
        ("a.md", "Don&shy;au&#8203;dampfer o&#xFB03;ce"),
        ("a.html", f"<p>{SPLIT}"),
        ("a.html", "<p>Don&shy;au&#8203;dampfer o&#xFB03;ce"),
        ("a.csv", SPLIT),
        ("a.json", json.dumps({"text": SPLIT})),
        ("a.eml", f"Content-Type: text/plain; charset=utf-8\n\n{SPLIT}"),
        ("a.ipynb", json.dumps({"cells": [{"cell_type": "markdown", "source": SPLIT}]})),
        ("a.docx", make_docx(make_paragraph(SPLIT))),
        ("a.odt", make_odt(f"<text:p>{SPLIT}</text:p>")),
        ("a.rtf", rb"{\rtf1 Don\-au\u8203 ?dampfer o\u-1277 ?ce}"),
    ],
)
def test_a_word_is_one_word_in_every_format(name: str, content: bytes | str) -> None:
    assert read(name, content).text.strip() == WHOLE


def test_code_stays_as_it_is() -> None:
    assert read("a.py", f'x = "{SPLIT}"').text == f'x = "{SPLIT}"'


def test_places_are_those_of_the_text_without_what_is_not_seen() -> None:
    document = Document(
        "",
        "\u00adA\u00adﬁ\n\nB\u200b\u200b\n\nC",
        title="T\u00ad1",
        headings=(Heading(0, 1, "A\u00adﬁ"), Heading(6, 1, "B\u200b")),
        pages=(0, 6, 11),
    )
    tidy = tidy_document(document)
    assert (tidy.text, tidy.title) == ("Afi\n\nB\n\nC", "T1")
    assert [(each.start, each.text) for each in tidy.headings] == [(0, "Afi"), (5, "B")]
    assert [tidy.text[start:][:1] for start in tidy.pages] == ["A", "B", "C"]


def test_a_place_within_an_edit_moves_to_its_end() -> None:
    document = Document("", "abcdef", headings=(Heading(3, 1, "x"),))
    edited = edit_document(document, [Edit(2, 4, "XYZ")])
    assert (edited.text, edited.headings[0].start) == ("abXYZef", 5)


def test_citations_point_to_the_text_that_is_shown() -> None:
    document = read(
        "a.md",
        "# Don\u00adau\n\nEr f\u00adährt.\n\n# Rhein &amp; Main {#r}\n\nEr f\u00adährt auch.\n",
    )
    passages = SectionChunker(smallest=0).chunk(document)
    assert [(each.title, each.text.partition("\n\n")[2]) for each in passages] == [
        ("Donau", "Er fährt."),
        ("Rhein & Main", "Er fährt auch."),
    ]
    for passage in passages:
        place = passage.metadata
        assert document.text[place["start"] : place["end"]] == passage.text


class TestRaisedText:
    @pytest.mark.parametrize(
        ("page", "text"),
        [
            ("10<sup>6</sup> and 10<sup>-6</sup>", "10⁶ and 10⁻⁶"),
            ("H<sub>2</sub>O, log<sub>10</sub>5, V<sub>DD</sub>", "H₂O, log₁₀5, V_DD"),
            ("1<sup>st</sup> of May, 2<sup>e</sup>, M<sup>me</sup>", "1st of May, 2e, Mme"),
            ("mended<sup><a href='#n1'>1</a></sup>, May<sup>[2]</sup>", "mended¹, May[2]"),
            ("2<sup>n+1</sup>, 2<sup>K</sup>, 2<sup>k·q</sup>", "2ⁿ⁺¹, 2^K, 2^(k·q)"),
            ("Acme<sup>TM</sup>, offers<sup>new</sup>", "Acme™, offers new"),
            ("<sup>Terms of the offer apply.</sup>", "Terms of the offer apply."),
            ("<sup>1</sup> By Ortega.", "¹ By Ortega."),
        ],
    )
    def test_html(self, page: str, text: str) -> None:
        assert read("a.html", f"<p>{page}").text == text

    def test_markdown(self) -> None:
        assert read("a.md", "10<sup>6</sup> `10<sup>6</sup>`").text == "10⁶ `10<sup>6</sup>`"

    def test_word(self) -> None:
        raised = '<w:vertAlign w:val="superscript"/>'
        lowered = '<w:rStyle w:val="Low"/>'
        style = (
            '<w:styles xmlns:w="w"><w:style w:type="character" w:styleId="Low"><w:rPr>'
            '<w:vertAlign w:val="subscript"/></w:rPr></w:style></w:styles>'
        )
        body = (
            f"<w:p>{make_run('10')}{make_run('6', raised)}{make_run(', the 1')}{make_run('s', raised)}"
            f"{make_run('t', raised)}{make_run(' H')}"
            f"{make_run('2', lowered)}{make_run('O')}</w:p>"
        )
        content = make_docx(body, {"word/styles.xml": style})
        assert read("a.docx", content).text == "10⁶, the 1st H₂O"

    def test_powerpoint(self) -> None:
        runs = (
            '<a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r>'
            '<a:r><a:rPr baseline="0"/><a:t> H</a:t></a:r>'
            '<a:r><a:rPr baseline="-25000"/><a:t>2</a:t></a:r><a:r><a:t>O</a:t></a:r>'
        )
        shape = f"<p:sp><p:txBody><a:p>{runs}</a:p></p:txBody></p:sp>"
        assert read("a.pptx", make_pptx([shape])).text == "10⁶ H₂O"

    def test_opendocument(self) -> None:
        positions = {"A": "super 58%", "B": "-33% 58%", "C": "0% 100%"}
        styles = "".join(
            f'<style:style style:name="{name}"><style:text-properties '
            f'style:text-position="{position}"/></style:style>'
            for name, position in positions.items()
        )
        pieces = [("", "10"), ("A", "6"), ("", " H"), ("B", "2"), ("C", "O")]
        spans = "".join(
            f'<text:span text:style-name="{style}">{text}</text:span>' for style, text in pieces
        )
        assert read("a.odt", make_odt(f"<text:p>{spans}</text:p>", styles)).text == "10⁶ H₂O"

    def test_rich_text(self) -> None:
        content = rb"{\rtf1 10{\super 6} H{\sub 2}O 10\up6 3\up0  x}"
        assert read("a.rtf", content).text == "10⁶ H₂O 10³ x"


class TestReadings:
    """Ruby: the reading of characters follows the whole word."""

    def test_word(self) -> None:
        ruby = (
            f"<w:r><w:ruby><w:rubyPr/><w:rt>{make_run('とうきょう')}</w:rt>"
            f"<w:rubyBase>{make_run('東京')}</w:rubyBase></w:ruby></w:r>"
        )
        body = f"<w:p>{ruby}{make_run('駅に')}</w:p>"
        assert read("a.docx", make_docx(body)).text == "東京駅（とうきょう）に"

    def test_opendocument(self) -> None:
        ruby = (
            "<text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とうきょう"
            "</text:ruby-text></text:ruby>"
        )
        assert (
            read("a.odt", make_odt(f"<text:p>{ruby}駅に</text:p>")).text == "東京駅（とうきょう）に"
        )

    def test_html(self) -> None:
        page = "<p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>駅に"
        assert read("a.html", page).text == "東京駅（とうきょう）に"
        assert read("a.html", "<p><ruby>WWW<rt>World</rt></ruby> page").text == "WWW (World) page"


class TestFormulas:
    FRACTION = (
        "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>12</m:t></m:r></m:den></m:f>"
    )
    POWER = (
        "<m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>6</m:t></m:r></m:sup></m:sSup>"
    )

    def test_word(self) -> None:
        formula = f'<m:oMath xmlns:m="m">{self.FRACTION}</m:oMath>'
        power = f'<m:oMath xmlns:m="m">{self.POWER}</m:oMath>'
        body = f"<w:p>{formula}{make_run(' of ')}{power}</w:p>"
        assert read("a.docx", make_docx(body)).text == "1/12 of 10⁶"

    def test_opendocument_has_formulas_in_members_of_their_own(self) -> None:
        formula = '<math xmlns="m"><mfrac><mn>1</mn><mn>12</mn></mfrac></math>'
        frame = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
        body = f"<text:p>Pay {frame} now.</text:p>"
        content = make_odt(body, members={"Object 1/content.xml": formula})
        assert read("a.odt", content).text == "Pay 1/12 now."


class TestBoxesAndNotes:
    def test_word(self) -> None:
        box = (
            f"<w:txbxContent>{make_paragraph('Box one')}{make_paragraph('Box two')}</w:txbxContent>"
        )
        drawn = (
            f"<w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback><w:pict>{box}"
            "</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
        )
        reference = '<w:r><w:footnoteReference w:id="2"/></w:r>'
        notes = "".join(
            f'<w:footnote w:id="{number}">{make_paragraph(text)}</w:footnote>'
            for number, text in ((2, "By Ortega."), (3, "Nobody refers to it."))
        )
        body = (
            f"<w:p>{make_run('Before box')}{drawn}{make_run('after box')}</w:p>"
            f"<w:p><w:pPr><w:numPr/></w:pPr>{make_run('The lift was mended')}{reference}"
            f"{make_run(' in May.')}</w:p>{make_paragraph('two', '', '<w:numPr/>')}"
            f"{make_paragraph('Costs', 'berschrift1')}{make_paragraph('None.')}"
        )
        members = {"word/footnotes.xml": f'<w:footnotes xmlns:w="w">{notes}</w:footnotes>'}
        assert read("a.docx", make_docx(body, members)).text == (
            "Before box\n\nBox one\n\nBox two\n\nafter box\n\n- The lift was mended in May.\n- two\n\n"
            "By Ortega.\n\nCosts\n\nNone.\n\nNobody refers to it."
        )

    def test_a_heading_in_a_text_box(self) -> None:
        box = f"<w:txbxContent>{make_paragraph('Fees', 'berschrift1')}</w:txbxContent>"
        document = read("a.docx", make_docx(f"<w:p><w:r><w:pict>{box}</w:pict></w:r></w:p>"))
        assert [each.text for each in document.headings] == ["Fees"]

    def test_a_text_box_in_a_cell(self) -> None:
        box = f"<w:txbxContent>{make_paragraph('Box')}</w:txbxContent>"
        paragraph = f"<w:p>{make_run('A')}<w:r><w:pict>{box}</w:pict></w:r>{make_run('B')}</w:p>"
        table = f"<w:tbl><w:tr><w:tc>{paragraph}</w:tc></w:tr></w:tbl>"
        assert read("a.docx", make_docx(table)).text == "A Box B"

    def test_powerpoint_has_a_shape_once(self) -> None:
        from document_files import make_shape

        shapes = (
            f'<mc:AlternateContent xmlns:mc="mc"><mc:Choice>{make_shape("Once")}</mc:Choice>'
            f"<mc:Fallback>{make_shape('Once')}</mc:Fallback></mc:AlternateContent>"
        )
        assert read("a.pptx", make_pptx([shapes])).text == "Once"

    def test_opendocument(self) -> None:
        note = (
            "<text:note><text:note-citation>1</text:note-citation><text:note-body>"
            "<text:p>By Ortega.</text:p><text:p>And sons.</text:p></text:note-body></text:note>"
        )
        box = (
            "<draw:frame><draw:text-box><text:p>Box one</text:p><text:p>Box two</text:p>"
            "</draw:text-box><svg:title>A box</svg:title></draw:frame>"
        )
        body = (
            f"<text:p>The lift was mended{note} in May.</text:p><text:p>Before{box}after</text:p>"
        )
        assert read("a.odt", make_odt(body)).text == (
            "The lift was mended in May.\n\nBy Ortega.\nAnd sons.\n\nBefore\n\nBox one\n\nBox two\n\nafter"
        )

    def test_lists_of_opendocument(self) -> None:
        inner = "<text:list><text:list-item><text:p>sub</text:p></text:list-item></text:list>"
        body = (
            f"<text:list><text:list-item><text:p>one</text:p><text:p>goes on</text:p>{inner}"
            "</text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>"
            '<text:list><text:list-item><text:h text:outline-level="2">Hours</text:h>'
            "</text:list-item></text:list><text:p>Nine to five.</text:p>"
        )
        document = read("a.odt", make_odt(body))
        assert document.text == "- one\n  goes on\n- sub\n- two\n\nHours\n\nNine to five."
        assert [(each.level, each.text) for each in document.headings] == [(2, "Hours")]
