"""Readers of documents as fuzz targets: the bytes of one file in a folder, which is read or listed
with a reason.
"""

from functools import cache
from pathlib import Path
from typing import Any

from convrag.store.store import Store
from convrag_chunkers.section_chunker import SectionChunker
from convrag_documents.dataset import DocumentsDataset
from document_files import (
    make_docx,
    make_epub,
    make_odt,
    make_paragraph,
    make_pdf,
    make_pptx,
    make_shape,
    make_xlsx,
)

SOUND: dict[str, bytes] = {
    "a.txt": "Größe: weekly.\n".encode("latin-1") * 3,
    "a.md": b"---\ntitle: T\n---\n# Leave\n\nIt lasts.\n\nMore\n====\n\n```\n# x\n```\n- a\n  b\n",
    "a.html": b"<title>T</title><h1>Leave</h1><p>It <b>lasts</b>.<table><tr><td>a<td>b</table><ul><li>x</ul>",
    "a.pdf": make_pdf(
        [["Leave", "It lasts."], ["Sick leave"]], [("Leave", 0), ("Sick", 1)], "Leave"
    ),
    "a.docx": make_docx(
        make_paragraph("Leave", "berschrift1") + make_paragraph("It lasts.", "", "<w:numPr/>")
    ),
    "a.pptx": make_pptx([make_shape("Safety", "title") + make_shape("Boots.")], "Hello"),
    "a.xlsx": make_xlsx({"Prices": [["item", "price"], ["laptop", 1200.0]]}),
    "a.epub": make_epub(["<h1>One</h1><p>It begins.</p>"]),
    "a.csv": b'item;price\n"a ""b""";1\nc;2\n',
    "a.tsv": b'item\tprice\n"a, b\t1\nc\t"2\n',
    "a.json": b'{"columns": ["town", "n"], "data": [["Hull", 12], [null, true]]}',
    "a.rst": (
        b"Title\n=====\n\nSee :ref:`a <b>` and |c|::\n\n  code\n\n.. |c| replace:: d\n\n.. note:: e\n\n"
        b"+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n\n==  ==\na   b\n==  ==\n1   2\n==  ==\n"
    ),
    "a.1": (
        b".TH A 1\n.SH NAME\na \\- b\n.TP\n\\fB\\-v\\fP\nSay \\(lqmore\\(rq.\n.Op Fl v Ar x .\n"
        b".nf\ncode\n.fi\n.TS\nl l.\na\tb\n1\t2\n.TE\n"
    ),
    "a.jsonl": b'{"text": "One.", "title": "T"}\n"Two."\n{"q": 1.5}\n',
    "b.json": b'[{"title": "T", "text": "One."}, {"q": [1.5, {"city": "Ulm"}]}, "Two."]',
    "b.tsv": b"item\tprice\na b\t1\nc\t2\n",
    "a.rtf": (
        b"{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}\\pard Leave\\par It lasts \\'e4 \\u8364?.\\par"
        b"\\trowd\\cellx100\\cellx200 a\\cell b\\cell\\row{\\footnote A note.}}"
    ),
    "a.odt": make_odt(
        '<t:h t:outline-level="1">Leave</t:h><t:p>It lasts<t:s/>long.</t:p>'
        "<t:list><t:list-item><t:p>x</t:p></t:list-item></t:list><b:table><b:table-row>"
        "<b:table-cell><t:p>a</t:p></b:table-cell></b:table-row></b:table>"
    ),
    "a.eml": (
        b"Subject: =?utf-8?q?Schl=C3=BCssel?=\nFrom: Ada <a@b.example>\nMIME-Version: 1.0\n"
        b"Content-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/plain; charset=latin-1\n"
        b"Content-Transfer-Encoding: base64\n\nU2NobPxzc2VsLg==\n--B\nContent-Type: message/rfc822\n\n"
        b"Subject: Old\nContent-Type: multipart/alternative; boundary=C\n\n--C\n\nText.\n--C\n"
        b"Content-Type: text/html\n\n<p>Text.</p>\n--C--\n--B--\n"
    ),
    "b.rst": b"Title\n=====\n\n:field: a\n\nText ``code`` :ref:`x`.\n\n.. note:: A note.\n\n* a\n* b\n",
    "a.py": b"def f():\n    return 1\n",
    "a.ipynb": b'{"cells": [{"cell_type": "markdown", "source": ["# A\\n", "b"]}, {"source": "x"}]}',
}
"""Name of a file -> its contents."""


@cache
def _open_store(folder: Path) -> Store:
    return Store(folder)


def _read(path: Path) -> Any:
    dataset = DocumentsDataset(
        path=path, chunker=SectionChunker(), store=_open_store(path.parent / "store")
    )
    passages = list(dataset.corpus("default"))
    for passage in passages:
        document = dataset.document("default", passage.metadata["document"])
        assert document is not None
        assert document.text[passage.metadata["start"] : passage.metadata["end"]] == passage.text
        starts = [heading.start for heading in document.headings]
        assert starts == sorted(starts)
        assert all(0 <= start <= len(document.text) for start in [*starts, *document.pages])
        assert list(document.pages) == sorted(document.pages)
        assert document.pages[:1] in ((), (0,))
    return passages


DOCUMENT_READERS = {
    f"document_{name.partition('.')[2]}": (_read, [seed]) for name, seed in SOUND.items()
}

DOCUMENT_NAMES = {f"document_{name.partition('.')[2]}": name for name in SOUND}
"""Target -> the name of its file."""
