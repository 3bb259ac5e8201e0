"""Pages as browsers show them: titles, main parts, formulas, hidden parts, encodings."""

import time

import pytest

from convrag.api.documents import Document
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader


def read(content: bytes | str, name: str = "a.html") -> Document:
    reader = find_reader(FoundFile(name, name))
    assert reader is not None
    (document,) = reader.read(content.encode() if isinstance(content, str) else content)
    return document


def list_headings(document: Document) -> list[str]:
    for heading in document.headings:
        assert document.text[heading.start :].startswith(heading.text)
    return [heading.text for heading in document.headings]


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<svg><title>Burger menu</title></svg><p>x", ""),
        ("<body><svg><title>Logo</title></svg><title>Locks</title><p>x", "Locks"),
        ("<title>Don&shy;au &amp; Rhein</title><p>x", "Donau & Rhein"),
    ],
)
def test_the_title_is_not_that_of_a_picture(page: str, title: str) -> None:
    assert read(page).title == title


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>a<main>First.</main><p>b<main>Second.</main>", "First.\n\nSecond."),
        ("<main id=app></main><p>Ferry.", "Ferry."),
        ("<main hidden>Old.</main><main>New.</main>", "New."),
        ("<main hidden>Old.</main><p>New.</p>", "New."),
    ],
)
def test_main_parts_are_those_that_are_shown_and_have_text(page: str, text: str) -> None:
    assert read(page).text == text


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("Leave <a class='x headerlink' href=#l>¶</a>", "Leave"),
        ("Leave<a class=anchor href='#leave'>#</a>", "Leave"),
        ("Lock<br>sizes", "Lock sizes"),
        ("<div>Lock</div><p>sizes</p>", "Lock sizes"),
        ("R&amp;D&nbsp;2", "R&D 2"),
        ("Don&shy;au &#8203;", "Donau"),
    ],
)
def test_headings(heading: str, text: str) -> None:
    document = read(f"<h2>{heading}</h2><p>Words.</p>")
    assert list_headings(document) == [text]
    assert document.text.replace("\u00a0", " ").split("\n")[0].strip() == text


_MATH = (
    "<math><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow>"
    "<annotation encoding='application/x-tex'>E=mc^2</annotation></semantics></math>"
)


@pytest.mark.parametrize(
    "formula",
    [
        _MATH,
        f"<span class=katex><span class=katex-mathml>{_MATH}</span>"
        "<span class=katex-html aria-hidden=true><span>E=mc2</span></span></span>",
        "<mjx-container><mjx-math aria-hidden=true>E=mc2</mjx-math>"
        f"<mjx-assistive-mml>{_MATH}</mjx-assistive-mml></mjx-container>",
        f"<span><span style='display: none;'>{_MATH}</span><img aria-hidden=true></span>",
    ],
)
def test_a_formula_is_read_once(formula: str) -> None:
    assert read(f"<p>So {formula} holds.").text == "So E=mc² holds."


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<mfrac><mn>1</mn><mn>12</mn></mfrac>", "1/12"),
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mi>b</mi></mfrac>", "(a+1)/b"),
        ("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>", "xᵢ²"),
        ("<msqrt><mi>x</mi></msqrt><mroot><mi>y</mi><mn>3</mn></mroot>", "√x³√y"),
        ("<mfenced open='[' close=']'><mi>a</mi><mi>b</mi></mfenced>", "[a,b]"),
        ("<mtable><mtr><mtd>1</mtd><mtd>2</mtd></mtr><mtr><mtd>3</mtd></mtr></mtable>", "1, 2; 3"),
    ],
)
def test_formulas_are_a_line(formula: str, text: str) -> None:
    assert read(f"<p><math>{formula}</math>").text == text


def test_a_formula_that_nests_deep_is_read() -> None:
    assert read(f"<p><math>{'<mrow>' * 4000}x</math>").text == "x"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<details><summary>More</summary>Inside.</details>", "More\nInside."),
        ("<p>a<p hidden>b<p hidden=until-found>c<div role=tabpanel hidden>d</div>", "a\n\nc\n\nd"),
        ("<p>a<p style='color: red; display:none'>b<p style='display: block'>c", "a\n\nc"),
        ("<body><p>Text.<noscript>Turn scripts on.</noscript>", "Text."),
        ("<body><div id=app></div><noscript><p>Text.</noscript>", "Text."),
        ("<template><p>No.</template><p>Yes.", "Yes."),
        ("<div><template shadowrootmode=open><p>Shadow.</template></div>", "Shadow."),
        ("<p>a<iframe srcdoc='&lt;p&gt;Framed &amp;lt; 5.'>old</iframe>", "a\n\nFramed < 5."),
        ("<frameset><frame></frameset>", ""),
    ],
)
def test_parts_that_are_not_shown_at_once(page: str, text: str) -> None:
    assert read(page).text == text


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [
        ("iso-8859-1", "cp1252", "Preis 5 € – „gut“"),
        ("us-ascii", "cp1252", "naïve “q”"),
        ("iso-8859-9", "cp1254", "ağaç €"),
        ("tis-620", "cp874", "ภาษา €"),
        ("shift_jis", "cp932", "①から㈱"),
        ("x-sjis", "cp932", "日本語"),
        ("gb2312", "gb18030", "镕㐂€"),
        ("big5", "big5hkscs", "香港嘅"),
        ("ks_c_5601-1987", "cp949", "똠방각하"),
        ("iso-8859-8-i", "iso8859-8", "מפתחות"),
        ("koi8-ru", "koi8_u", "Привіт їжак"),
        ("macintosh", "mac_roman", "Größe"),
        ("cp437", "cp437", "Größe"),
        ("utf-16", "utf-8", "Größe"),
        ("nonsense", "cp1252", "Größe und Übermut"),
    ],
)
def test_encodings_are_those_of_browsers(label: str, encoding: str, text: str) -> None:
    assert read(f'<meta charset="{label}"><p>{text}'.encode(encoding)).text == text


def test_where_an_encoding_is_declared() -> None:
    declared = "text/html; charset=windows-1251"
    for head in (
        '<?xml version="1.0" encoding="windows-1251"?><html>',
        "<!-- <meta charset=koi8-r> --><meta charset=windows-1251>",
        f'<meta http-equiv="Content-Type" content="{declared}">',
    ):
        assert read(f"{head}<p>Отпуск".encode("cp1251")).text == "Отпуск"


@pytest.mark.parametrize("label", ["unicode_escape", "idna", "punycode", "klingon"])
def test_a_declared_name_that_is_no_encoding_is_passed_over(label: str) -> None:
    """Python takes the first for an encoding, in which a page could write any character."""
    page = f"<meta charset={label}><p>Schlüssel: \\u0041".encode("cp1252")
    assert read(page).text == "Schlüssel: \\u0041"


def test_a_damaged_letter_does_not_hide_the_declared_encoding() -> None:
    text = "これは日本語の文章です。" * 5
    page = b"<meta charset=shift_jis><p>" + text.encode("cp932") + b"\xff<p>x"
    assert read(page).text.startswith(text)


@pytest.mark.parametrize(
    "page",
    [
        "x<sup>2</sup>" * 80_000,
        "<ruby>x<rt>y</rt></ruby>" * 40_000,
        "<i aria-hidden=true>x</i>" * 40_000 + "<math><mi>y</math>",
        "<a href='#x'>#</a>" * 50_000,
        "<svg><title>x</title></svg>" * 30_000,
        "<main></main>" * 50_000,
    ],
    ids=["raised", "readings", "hidden", "links", "titles", "main parts"],
)
def test_pages_take_linear_time(page: str) -> None:
    start = time.process_time()
    read(page)
    assert time.process_time() - start < 10


def test_an_epub_is_read_as_pages_are() -> None:
    from document_files import make_epub

    chapter = "<h1>東京</h1><p><ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>駅、10<sup>6</sup></p>"
    assert read(make_epub([chapter]), "a.epub").text == "東京\n\n東京駅（とうきょう）、10⁶"
