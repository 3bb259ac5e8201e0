"""Makes small files of documents, byte by byte, for the tests of dataset=documents."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from html import escape

_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def make_zip(members: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name)  # of no certain time, so that the bytes are the same
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return buffer.getvalue()


def make_relations(targets: Mapping[str, tuple[str, str]]) -> str:
    """Relations of an Office file: id -> (last word of the type, target)."""
    rows = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_RELATIONS}">{rows}</Relationships>'


def make_pdf(
    pages: Sequence[Sequence[str]], bookmarks: Sequence[tuple[str, int]] = (), title: str = ""
) -> bytes:
    """A PDF: pages as lists of lines (ASCII), bookmarks as (title, page from 0)."""
    objects: list[bytes] = []

    def add(content: str | bytes) -> int:
        objects.append(content.encode("latin-1") if isinstance(content, str) else content)
        return len(objects)

    add("<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>")
    first = 5
    kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(pages)))
    add(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    marks = first + 2 * len(pages)
    last = marks + len(bookmarks) - 1
    add(
        f"<< /Type /Outlines /First {marks} 0 R /Last {last} 0 R >>"
        if bookmarks
        else "<< /Type /Outlines >>"
    )
    for number, lines in enumerate(pages):
        shown = " T* ".join(f"({line.replace('(', '').replace(')', '')}) Tj" for line in lines)
        stream = f"BT /F1 12 Tf 14 TL 50 750 Td {shown} ET" if lines else ""
        add(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {first + 2 * number + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        add(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    for number, (text, page) in enumerate(bookmarks):
        beside = f"/Next {marks + number + 1} 0 R" if number + 1 < len(bookmarks) else ""
        add(f"<< /Title ({text}) /Parent 4 0 R /Dest [{first + 2 * page} 0 R /Fit] {beside} >>")
    info = add(f"<< /Title ({title}) >>")
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (len(objects) + 1, info)
    return bytes(out) + b"startxref\n%d\n%%%%EOF\n" % table


def make_docx(body: str, members: Mapping[str, str | bytes] | None = None) -> bytes:
    """A Word file with the XML of a body."""
    return make_zip(
        {
            "_rels/.rels": make_relations({"r1": ("officeDocument", "word/document.xml")}),
            "word/_rels/document.xml.rels": make_relations(
                {"r1": ("styles", "styles.xml"), "r2": ("footnotes", "footnotes.xml")}
            ),
            "word/document.xml": f'<w:document xmlns:w="w" xmlns:mc="mc"><w:body>{body}</w:body></w:document>',
            "word/styles.xml": (
                '<w:styles xmlns:w="w">'
                '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>'
                '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
                '<w:style w:styleId="Mine"><w:name w:val="My own"/><w:basedOn w:val="berschrift1"/></w:style>'
                "</w:styles>"
            ),
            **(members or {}),
        }
    )


def make_paragraph(text: str, style: str = "", properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr><w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def make_pptx(slides: Sequence[str], notes: str = "") -> bytes:
    """A presentation: the XML of the shapes of each slide, and the notes of the first."""
    entries = "".join(
        f'<p:sldId id="{256 + number}" r:id="s{number}"/>' for number in range(len(slides))
    )
    members: dict[str, str | bytes] = {
        "_rels/.rels": make_relations({"r1": ("officeDocument", "ppt/presentation.xml")}),
        "ppt/presentation.xml": (
            f'<p:presentation xmlns:p="p" xmlns:r="{_OFFICE}"><p:sldIdLst>{entries}</p:sldIdLst></p:presentation>'
        ),
        "ppt/_rels/presentation.xml.rels": make_relations(
            {f"s{number}": ("slide", f"slides/slide{number}.xml") for number in range(len(slides))}
        ),
    }
    for number, shapes in enumerate(slides):
        members[f"ppt/slides/slide{number}.xml"] = (
            f'<p:sld xmlns:p="p" xmlns:a="a">{shapes}</p:sld>'
        )
    if notes:
        members["ppt/slides/_rels/slide0.xml.rels"] = make_relations(
            {"n": ("notesSlide", "../notes/n.xml")}
        )
        members["ppt/notes/n.xml"] = (
            f'<p:notes xmlns:p="p" xmlns:a="a">{make_shape(notes, "body")}</p:notes>'
        )
    return make_zip(members)


def make_shape(text: str, kind: str = "") -> str:
    place = f'<p:nvPr><p:ph type="{kind}"/></p:nvPr>' if kind else ""
    lines = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f"<p:sp>{place}<p:txBody>{lines}</p:txBody></p:sp>"


def make_xlsx(sheets: Mapping[str, Sequence[Sequence[str | float]]], cells: str = "") -> bytes:
    """A workbook; `cells` is XML that the last sheet has besides."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    names = list(sheets)
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": (
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
            + "".join(
                f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{kinds}.worksheet+xml"/>'
                for number in range(len(names))
            )
            + "</Types>"
        ),
        "_rels/.rels": make_relations({"r1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": (
            f'<workbook xmlns="{main}" xmlns:r="{_OFFICE}"><sheets>'
            + "".join(
                f'<sheet name="{name}" sheetId="{number + 1}" r:id="r{number}"/>'
                for number, name in enumerate(names)
            )
            + "</sheets></workbook>"
        ),
        "xl/_rels/workbook.xml.rels": make_relations(
            {
                f"r{number}": ("worksheet", f"worksheets/sheet{number}.xml")
                for number in range(len(names))
            }
        ),
    }
    for number, rows in enumerate(sheets.values()):
        xml = "".join(f"<row>{''.join(map(_make_cell, row))}</row>" for row in rows)
        xml += cells if number == len(names) - 1 else ""
        members[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{main}"><sheetData>{xml}</sheetData></worksheet>'
        )
    return make_zip(members)


def _make_cell(value: str | float) -> str:
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value}</v></c>"


def make_epub(chapters: Sequence[str], title: str = "A book", encryption: str = "") -> bytes:
    """A book: the XHTML of its chapters' bodies."""
    items = "".join(
        f'<item id="c{number}" href="text/ch%20{number}.xhtml" media-type="application/xhtml+xml"/>'
        for number in range(len(chapters))
    )
    refs = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    members: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": (
            '<container xmlns="urn:c"><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
        ),
        "OPS/book.opf": (
            '<package xmlns="o" xmlns:dc="d"><metadata><dc:title>'
            + title
            + "</dc:title></metadata>"
            f"<manifest>{items}</manifest><spine>{refs}</spine></package>"
        ),
    }
    for number, body in enumerate(chapters):
        members[f"OPS/text/ch {number}.xhtml"] = (
            f'<html xmlns="x"><head><title/><script src="x"/></head><body>{body}</body></html>'
        )
    if encryption:
        members["META-INF/encryption.xml"] = (
            f'<encryption><EncryptedData><CipherReference URI="{encryption}"/></EncryptedData></encryption>'
        )
    return make_zip(members)


def make_odt(xml: str) -> bytes:
    """An OpenDocument text: the XML of its blocks, with the prefixes t (text) and b (table)."""
    names = 'xmlns:o="o" xmlns:t="t" xmlns:b="b"'
    body = f"<o:document {names}><o:body><o:text>{xml}</o:text></o:body></o:document>"
    return make_zip({"content.xml": body})
