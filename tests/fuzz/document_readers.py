"""Readers of documents: each target is a format. Whatever a reader raises is the reason why a file is not read."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from functools import partial

from convrag import Document
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader
from document_files import make_docx, make_epub, make_paragraph, make_pdf, make_pptx, make_shape, make_xlsx

SOUND = {
    "a.txt": "Größe: weekly.\n".encode("latin-1") * 3,
    "a.md": b"---\ntitle: T\n---\n# Leave\n\nIt lasts.\n\nMore\n====\n\n```\n# x\n```\n- a\n  b\n",
    "a.html": b"<title>T</title><h1>Leave</h1><p>It <b>lasts</b>.<table><tr><td>a<td>b</table><ul><li>x</ul>",
    "a.pdf": make_pdf([["Leave", "It lasts."], ["Sick leave"]], [("Leave", 0), ("Sick", 1)], "Leave"),
    "a.docx": make_docx(make_paragraph("Leave", "berschrift1") + make_paragraph("It lasts.", "", "<w:numPr/>")),
    "a.pptx": make_pptx([make_shape("Safety", "title") + make_shape("Boots.")], "Hello"),
    "a.xlsx": make_xlsx({"Prices": [["item", "price"], ["laptop", 1200.0]]}),
    "a.epub": make_epub(["<h1>One</h1><p>It begins.</p>"]),
    "a.csv": b'item;price\n"a ""b""";1\nc;2\n',
    "a.jsonl": b'{"text": "One.", "title": "T"}\n"Two."\n{"q": 1.5}\n',
    "a.ipynb": b'{"cells": [{"cell_type": "markdown", "source": ["# A\\n", "b"]}, {"source": "x"}]}',
}
"""Name of a file -> its contents."""


def read_document(name: str, content: bytes) -> None:
    """Read a file, and check what is read before an error: its headings and pages lie in its text, in order."""
    reader = find_reader(FoundFile(name, name))
    assert reader is not None
    documents: list[Document] = []
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        for document in reader.read(content):
            documents.append(document)  # noqa: PERF402 - those before an error
    for document in documents:
        starts = [heading.start for heading in document.headings]
        assert starts == sorted(starts)
        assert all(0 <= start <= len(document.text) for start in [*starts, *document.pages])
        assert list(document.pages) == sorted(document.pages)
        assert document.pages[:1] in ((), (0,))


DOCUMENT_READERS: dict[str, tuple[Callable[[bytes], None], list[bytes]]] = {
    f"document_{name.partition('.')[2]}": (partial(read_document, name), [content]) for name, content in SOUND.items()
}
