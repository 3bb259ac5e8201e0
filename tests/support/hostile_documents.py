"""Documents of at most 1 MB that are made to take much memory or time, in every format."""

import io
import json
import random
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping

from document_files import make_docx, make_epub, make_paragraph, make_pdf, make_pptx, make_xlsx

MEGABYTE = 1_000_000

Maker = Callable[[], bytes]


def repeat(piece: bytes, before: bytes = b"", after: bytes = b"") -> Maker:
    """A document that repeats a piece until it has a megabyte."""
    count = (MEGABYTE - len(before) - len(after)) // len(piece)
    return lambda: before + piece * count + after


def nest(opening: bytes, closing: bytes, before: bytes = b"", after: bytes = b"") -> Maker:
    """A document that nests as deeply as a megabyte lets it."""
    count = (MEGABYTE - len(before) - len(after)) // (len(opening) + len(closing))
    return lambda: before + opening * count + closing * count + after


def zip_members(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def replace_member(content: bytes, name: str, member: bytes) -> bytes:
    """The same archive with another member."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    return zip_members({**members, name: member, "padding": PADDING})


PADDING = random.Random(1).randbytes(850_000)
"""A member that cannot be packed, so that an archive of a megabyte may have large members."""

LARGE = 14_000_000
"""Bytes of a member that may be unpacked from an archive of a megabyte."""

MANY = 1_150_000
"""Elements of XML that such an archive may have, if each is one tag."""

FAR_TOO_LARGE = 120_000_000


def _make_large_docx(piece: bytes, before: bytes = b"", after: bytes = b"") -> Maker:
    def make() -> bytes:
        times = LARGE // len(piece)
        if b"<" in piece:
            times = min(times, MANY // piece.count(b"<"))
        body = before + piece * times + after
        xml = b'<w:document xmlns:w="w"><w:body>' + body + b"</w:body></w:document>"
        return replace_member(make_docx(""), "word/document.xml", xml)

    return make


def _make_large_epub() -> bytes:
    page = b"<html><body>" + b"<p>a</p>" * (LARGE // 9) + b"</body></html>"
    return replace_member(make_epub(["<p>a</p>"]), "OPS/text/ch 0.xhtml", page)


def _make_large_xlsx(cells: bytes) -> Maker:
    def make() -> bytes:
        main = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        xml = b'<worksheet xmlns="%s"><sheetData>' % main
        xml += (
            cells * min(LARGE // len(cells), MANY // cells.count(b"<"))
            + b"</sheetData></worksheet>"
        )
        return replace_member(make_xlsx({"A": [["a"]]}), "xl/worksheets/sheet0.xml", xml)

    return make


def _make_sparse_xlsx() -> bytes:
    cell = b'<row r="1400000"><c r="B1400000"><v>1</v></c></row>'
    return make_xlsx({"A": [["a"]]}, cell.decode())


def _make_large_pptx() -> bytes:
    xml = b'<p:sld xmlns:p="p" xmlns:a="a">' + b"<a:t/>" * MANY + b"</p:sld>"
    return replace_member(make_pptx(["x"]), "ppt/slides/slide0.xml", xml)


def _make_odt(xml: bytes) -> bytes:
    names = b'xmlns:o="o" xmlns:t="t" xmlns:b="b"'
    return zip_members(
        {
            "padding": PADDING,
            "content.xml": b"<o:d %s><o:body><o:text>" % names + xml + b"</o:text></o:body></o:d>",
        }
    )


def _make_pdf_stream(stream: bytes, filters: str = "/FlateDecode") -> bytes:
    """A page whose content is a stream with filters."""
    content = make_pdf([["x"]])
    start = content.index(b"<< /Length", content.index(b"/Contents"))
    end = content.index(b"endstream", start) + len(b"endstream")
    head = b"<< /Length %d /Filter %s >>\nstream\n" % (len(stream), filters.encode())
    return content[:start] + head + stream + b"\nendstream" + content[end:]


def _make_pdf_pages(kid: bytes, count: int) -> bytes:
    """A tree of pages that names one page many times."""
    content = make_pdf([["x"]])
    return content.replace(
        b"/Kids [5 0 R] /Count 1", b"/Kids [" + kid * count + b"] /Count %d" % count
    )


def _make_notebook(source: object, count: int) -> bytes:
    cells = [{"cell_type": "markdown", "source": source}] * count
    return json.dumps({"cells": cells}).encode()[:MEGABYTE]


def _deflate(piece: bytes, size: int) -> bytes:
    packer = zlib.compressobj(1)
    block = piece * (1_000_000 // len(piece))
    parts = [packer.compress(block) for _ in range(size // len(block))]
    return b"".join(parts) + packer.flush()


def _text(name: str, **makers: Maker) -> Iterator[tuple[str, tuple[str, Maker]]]:
    for label, maker in makers.items():
        yield f"{name.partition('.')[2]} {label}", (name, maker)


DOCX = make_docx(make_paragraph("x"))
_ROW = b"<w:tr>" + b"<w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc>" * 3 + b"</w:tr>"

HOSTILE: dict[str, tuple[str, Maker]] = dict(
    [
        *_text(
            "a.txt",
            lines=repeat(b"a\n"),
            words=repeat(b"a "),
            one_word=repeat(b"a"),
            sentences=repeat(b"A. "),
            newlines=repeat(b"\n"),
            wide=repeat("😀".encode()),
            latin=repeat(b"\xe4 "),
            zeros=repeat(b"\0a"),
            controls=repeat(b"\x01"),
        ),
        *_text("a.rst", titles=repeat(b"a\n=\n\n"), fields=repeat(b":a: b\n")),
        *_text(
            "a.md",
            headings=repeat(b"# a\n"),
            long_heading=lambda: b"# " + b"a" * 500_000 + b"\n" + b"Text is here.\n\n" * 30_000,
            title=lambda: b"---\ntitle: " + b"a" * 90_000 + b"\n---\n" + b"Text. \n\n" * 100_000,
            tables=repeat(b"|a|b|\n", b"|a|b|\n|-|-|\n"),
            wide_table=lambda: b"|" + b"a|" * 1000 + b"\n" + b"|-" * 1000 + b"|\n" + b"|" * 990_000,
            wide_rows=lambda: (
                b"|"
                + b"column %d|" * 1000 % tuple(range(1000))
                + b"\n"
                + b"|-" * 1000
                + b"|\n"
                + (b"|a" * 1000 + b"|\n") * 490
            ),
            lists=repeat(b"- a\n"),
            quotes=repeat(b">", b"", b"a"),
            nested=lambda: b"".join(b" " * n + b"- a\n" for n in range(1400)),
            fences=repeat(b"```\n"),
            backticks=repeat(b"`a"),
            brackets=repeat(b"["),
            images=repeat(b"[![a](b)](c)"),
            badges=repeat(b"[![a]("),
            links=repeat(b"[a](b)", b"# "),
            emphasis=repeat(b"*a _b", b"# "),
            entities=repeat(b"&amp;", b"# "),
            html=nest(b"<b>", b"</b>"),
            front=repeat(b"a: b\n", b"---\n", b"---\n"),
            yaml=repeat(b"a: [b\n", b"---\ntitle: x\n", b"---\n"),
            toml=repeat(b"a.", b"+++\n", b"a = 1\n+++\n"),
            attributes=repeat(b"# a {#b .c}\n"),
        ),
        *_text(
            "a.html",
            deep=nest(b"<div>", b"</div>"),
            unclosed=repeat(b"<b>"),
            spans=nest(b"<span>", b"</span>", b"", b"x"),
            table_in_table=repeat(b"<table><tr><td>"),
            cells=repeat(b"<td>a", b"<table><tr>"),
            rows=repeat(b"<tr><td>a<td>b", b"<table>"),
            headed_rows=repeat(b"<tr><td>a<td>b", b"<table><tr><th>x<th>y"),
            colspan=repeat(b"<td colspan=1000>a", b"<table><tr>"),
            rowspan=repeat(b"<tr><td rowspan=65534 colspan=1000>a", b"<table>"),
            huge_spans=lambda: (
                b"<table><tr><td rowspan=999999999 colspan=999999999>a</table>" * 15_000
            ),
            wide_rowspan=lambda: b"<table><tr>" + b"<td rowspan=65534>a" * 1000 + b"<tr>" * 190_000,
            wide_header=lambda: (
                b"<table><tr>" + b"<th>abcdefgh" * 1000 + (b"<tr>" + b"<td>1" * 1000) * 190
            ),
            long_header=lambda: (
                b"<table><tr><th>" + b"a" * 100_000 + b"<th>b" + b"<tr><td>1<td>2" * 60_000
            ),
            lists=nest(b"<ul><li>a", b"</li></ul>"),
            definitions=repeat(b"<dt>a<dd>b", b"<dl>"),
            terms=repeat(b"<dt>a", b"<dl>"),
            headings=repeat(b"<h1>a</h1>"),
            attributes=repeat(b" a=b", b"<p", b">x"),
            many_attributes=lambda: b"<p" + b"".join(b" a%d" % n for n in range(120_000)) + b">x",
            entities=repeat(b"&nbsp;"),
            pre=nest(b"<pre>", b"</pre>"),
            code=repeat(b"<pre><code>a</code></pre>"),
            formatting=repeat(b"<a><b><i><p>"),
            math=nest(b"<math><mi>", b"</mi></math>"),
            meta=repeat(b"<meta charset", b"", b">"),
            comments=repeat(b"<!--"),
            mains=repeat(b"<main>a</main>"),
            ruby=repeat(b"<ruby>a<rt>b</ruby>"),
            templates=nest(b"<template>", b"</template>"),
            title=lambda: (
                b"<title>" + b"a" * 500_000 + b"</title>" + b"<p>Text is here.</p>" * 20_000
            ),
        ),
        *_text(
            "a.csv",
            cells=repeat(b"a,"),
            empty_cells=repeat(b","),
            rows=repeat(b"a,b\n"),
            one_cell=lambda: b'a,b\n1,"' + b"x" * 990_000 + b'"\n',
            quotes=repeat(b'"a""'),
            wide_header=lambda: (
                b",".join(b"column %d" % n for n in range(1000))
                + b"\n"
                + (b"1," * 1000 + b"\n") * 490
            ),
            long_header=lambda: b"a" * 99 + b",b\n" + b"1,2\n" * 240_000,
            longest_header=lambda: b"a" * 100_000 + b",b\n" + b"1,2\n" * 220_000,
            long_names=lambda: (
                ",".join(f"{n}\N{ROCKET}{'a' * 95}" for n in range(50)).encode()
                + b"\n"
                + (b"1," * 50 + b"\n") * 9_800
            ),
            semicolons=repeat(b";"),
            ragged=lambda: b"a\n" * 100_000 + b"," * 790_000,
            sep=repeat(b"a;b\n", b"sep=;\n"),
        ),
        *_text("a.tsv", tabs=repeat(b"\t"), cells=repeat(b"a\t")),
        *_text(
            "a.json",
            arrays=nest(b"[", b"]"),
            objects=nest(b'{"a":', b"}", b"", b""),
            items=repeat(b"0,", b"[", b"0]"),
            empty=repeat(b"{},", b"[", b"{}]"),
            empty_arrays=repeat(b"[],", b"[", b"[]]"),
            texts=repeat(b'"a",', b"[", b'"a"]'),
            fields=lambda: b"{" + b",".join(b'"%d":0' % n for n in range(90_000)) + b"}",
            deep_names=lambda: b'{"a":' * 300 + b"[" + b"0," * 480_000 + b"0]" + b"}" * 300,
            long_name=lambda: b'{"' + b"a" * 300_000 + b'": [' + b"0," * 340_000 + b"0]}",
            number=repeat(b"9"),
            rows=repeat(b"[1,2],", b"[", b"[1,2]]"),
            records=repeat(b'{"a":1},', b"[", b'{"a":1}]'),
            uneven=lambda: b"[" + b",".join(b'{"a%d":1}' % n for n in range(60_000)) + b"]",
        ),
        *_text(
            "a.jsonl",
            numbers=repeat(b"0\n"),
            objects=repeat(b"{}\n"),
            texts=repeat(b'"a"\n'),
            broken=repeat(b"{\n"),
            deep=repeat(b"[" * 20_000 + b"\n"),
            fields=repeat(b'{"a":1}\n'),
        ),
        *_text(
            "a.ipynb",
            cells=lambda: _make_notebook("a", 20_000),
            lines=lambda: _make_notebook(["a\n"] * 100_000, 1),
            deep=nest(b"[", b"]", b'{"cells":', b"}"),
            empty=repeat(b"{},", b'{"cells":[', b"{}]}"),
            code=repeat(b'{"cell_type":"code","source":"a"},', b'{"cells":[', b"{}]}"),
        ),
        *_text(
            "a.rtf",
            groups=nest(b"{", b"}", b"{\\rtf1 ", b"}"),
            unclosed=repeat(b"{", b"{\\rtf1 "),
            words=repeat(b"\\par ", b"{\\rtf1 ", b"}"),
            letters=repeat(b"\\'e4", b"{\\rtf1 ", b"}"),
            unicode=repeat(b"\\u228?", b"{\\rtf1 ", b"}"),
            skips=repeat(b"\\uc99999 a", b"{\\rtf1 ", b"}"),
            cells=repeat(b"a\\cell ", b"{\\rtf1\\trowd ", b"\\row}"),
            rows=repeat(b"\\trowd a\\cell b\\cell\\row ", b"{\\rtf1 ", b"}"),
            notes=repeat(b"{\\footnote a}", b"{\\rtf1 ", b"}"),
            long_word=repeat(b"a", b"{\\rtf1 \\", b"}"),
            long_number=repeat(b"9", b"{\\rtf1 \\u", b"}"),
            binary=lambda: b"{\\rtf1 \\bin999999999 " + b"a" * 900_000 + b"}",
        ),
        *_text("a.py", lines=repeat(b"a\n"), one_line=repeat(b"a")),
        *_text(
            "a.docx",
            large_text=_make_large_docx(b"a", b"<w:p><w:r><w:t>", b"</w:t></w:r></w:p>"),
            bomb=lambda: zip_members({"word/document.xml": b"<a>" + b" " * FAR_TOO_LARGE}),
            large_elements=_make_large_docx(b"<w:p/>"),
            large_rows=_make_large_docx(_ROW, b"<w:tbl>", b"</w:tbl>"),
            deep=lambda: replace_member(
                DOCX,
                "word/document.xml",
                b'<w:document xmlns:w="w"><w:body>' + b"<w:sdt>" * 2_000_000,
            ),
            deep_closed=lambda: make_docx("<w:sdt>" * 400_000 + "</w:sdt>" * 400_000),
            deep_tables=lambda: make_docx(
                "<w:tbl><w:tr><w:tc><w:p/>" * 20_000 + "</w:tc></w:tr></w:tbl>" * 20_000
            ),
            entities=lambda: replace_member(
                DOCX,
                "word/document.xml",
                b'<!DOCTYPE l [<!ENTITY a "'
                + b"ha" * 50_000
                + b'">]><w:document xmlns:w="w">'
                + b"&a;" * 10_000
                + b"</w:document>",
            ),
            grid_span=lambda: make_docx(
                '<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr><w:p><w:r>'
                "<w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
            ),
            vertical=lambda: make_docx(
                "<w:tbl>"
                + "<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc></w:tr>" * 20_000
                + "</w:tbl>"
            ),
            breaks=lambda: make_docx("<w:p><w:r><w:lastRenderedPageBreak/></w:r></w:p>" * 50_000),
            members=lambda: zip_members({f"a{n}": b"" for n in range(9_000)}),
            styles=lambda: replace_member(
                DOCX,
                "word/styles.xml",
                b'<w:styles xmlns:w="w">'
                + b"".join(
                    b'<w:style w:styleId="s%d"><w:basedOn w:val="s%d"/></w:style>' % (n, n + 1)
                    for n in range(40_000)
                )
                + b"</w:styles>",
            ),
        ),
        *_text("a.pptx", large=_make_large_pptx),
        *_text(
            "a.xlsx",
            large_cells=_make_large_xlsx(b"<row><c><v>1</v></c></row>"),
            large_row=_make_large_xlsx(b"<c><v>1</v></c>"),
            large_texts=_make_large_xlsx(b'<row><c t="inlineStr"><is><t>a</t></is></c></row>'),
            sparse=_make_sparse_xlsx,
            large_strings=lambda: replace_member(
                make_xlsx({"A": [["a"]]}),
                "xl/sharedStrings.xml",
                b"<sst>" + b"<si><t>a</t></si>" * (LARGE // 20) + b"</sst>",
            ),
        ),
        *_text(
            "a.epub",
            large=_make_large_epub,
            same_page=lambda: replace_member(
                make_epub(["<p>" + "a " * 100_000 + "</p>"]),
                "OPS/book.opf",
                b'<package><manifest><item id="c0" href="text/ch%200.xhtml" '
                b'media-type="application/xhtml+xml"/></manifest><spine>'
                + b'<itemref idref="c0"/>' * 10_000
                + b"</spine></package>",
            ),
            self_closed=lambda: make_epub(["<a " * 300_000]),
        ),
        *_text(
            "a.odt",
            large=lambda: _make_odt(b"<t:p>" + b"a" * LARGE + b"</t:p>"),
            elements=lambda: _make_odt(b"<t:p/>" * MANY),
            deep=lambda: _make_odt(b"<t:span>" * 300_000 + b"</t:span>" * 300_000),
            deep_lists=lambda: _make_odt(
                b"<t:list><t:list-item><t:p>a</t:p>" * 30_000 + b"</t:list-item></t:list>" * 30_000
            ),
            deep_tables=lambda: _make_odt(
                b"<b:table><b:table-row><b:table-cell>" * 20_000
                + b"</b:table-cell></b:table-row></b:table>" * 20_000
            ),
            repeated=lambda: _make_odt(
                b'<b:table><b:table-row b:number-rows-repeated="999999999"><b:table-cell '
                b'b:number-columns-repeated="999999999"><t:p>a</t:p></b:table-cell></b:table-row>'
                b"</b:table>"
            ),
            spanned=lambda: _make_odt(
                b'<b:table><b:table-row><b:table-cell b:number-columns-spanned="999999999" '
                b'b:number-rows-spanned="999999999"><t:p>a</t:p></b:table-cell></b:table-row>'
                b"</b:table>"
            ),
            spaces=lambda: _make_odt(b'<t:p>a<t:s t:c="999999999"/>b</t:p>'),
            levels=lambda: _make_odt(
                b"".join(b'<t:h t:outline-level="%d">h</t:h>' % n for n in range(1, 20_000))
            ),
        ),
        *_text(
            "a.pdf",
            bomb=lambda: _make_pdf_stream(_deflate(b" ", 200_000_000)),
            text_bomb=lambda: _make_pdf_stream(_deflate(b"(a) Tj ", 100_000_000)),
            bomb_in_bomb=lambda: _make_pdf_stream(
                zlib.compress(_deflate(b" ", 200_000_000), 9), "[/FlateDecode /FlateDecode]"
            ),
            run_length=lambda: _make_pdf_stream(
                _deflate(b"\x81 ", 60_000_000), "[/FlateDecode /RunLengthDecode]"
            ),
            lzw=lambda: _make_pdf_stream(b"\x80\x0b\x60\x50" * 200_000, "/LZWDecode"),
            same_page=lambda: _make_pdf_pages(b"5 0 R ", 150_000),
            page_loop=lambda: _make_pdf_pages(b"2 0 R ", 10_000),
            objects=lambda: make_pdf([["x"]]).replace(
                b"xref\n0", b"1 0 obj\n[]\nendobj\n" * 45_000 + b"xref\n0"
            ),
            deep_array=lambda: make_pdf([["x"]]).replace(
                b"/MediaBox [", b"/MediaBox [" + b"[" * 900_000
            ),
            operators=lambda: _make_pdf_stream(_deflate(b"q ", 70_000_000)),
            bookmarks=lambda: make_pdf([["x"]], [(f"a{n}", 0) for n in range(6_000)], "t"),
            no_table=lambda: b"%PDF-1.4\n" + b"1 0 obj\n" * 120_000,
            predictor=lambda: _make_pdf_stream(
                _deflate(b"\x02a", 60_000_000),
                "/FlateDecode /DecodeParms << /Predictor 12 /Columns 1 >>",
            ),
        ),
        *_text(
            "a.eml",
            parts=repeat(b"--B\n\n", b"Content-Type: multipart/mixed; boundary=B\n\n"),
            texts=repeat(b"--B\n\na\n", b"Content-Type: multipart/mixed; boundary=B\n\n"),
            mails=repeat(b"Content-Type: message/rfc822\n\n"),
            headers=repeat(b"A: b\n"),
            words=repeat(b"=?utf-8?q?a?= ", b"Subject: "),
            long_subject=lambda: (
                b"Subject: " + b"a" * 500_000 + b"\n\n" + b"Text is here.\n" * 35_000
            ),
            page=repeat(b"<b>", b"Content-Type: text/html\n\n"),
            boundary=repeat(b"--a\nContent-", b"Content-Type: multipart/mixed\n\n"),
            continued=repeat(b" a\n", b"Subject: x\n", b"\n\nText."),
        ),
    ]
)
"""Format and name -> the name of a file, and a function that makes its bytes."""
