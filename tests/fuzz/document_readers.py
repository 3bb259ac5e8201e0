"""Readers of documents as fuzz targets: the bytes of one file in a folder, which is read or listed with a reason."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from convrag.store.store import Store
from convrag_chunkers.section_chunker import SectionChunker
from convrag_documents.dataset import DocumentsDataset
from document_files import make_docx, make_epub, make_paragraph, make_pdf, make_pptx, make_shape, make_xlsx

_TEXT = "# Tea\n\nGreen tea draws for two minutes.\n\n## Black tea\n\nFour minutes.\n"
_NOTEBOOK = {
    "cells": [{"cell_type": "markdown", "source": ["# Tea\n", "Hot."]}, {"cell_type": "code", "source": "1 + 1"}],
    "metadata": {},
    "nbformat": 4,
}

SEEDS: dict[str, bytes] = {
    "md": _TEXT.encode(),
    "txt": _TEXT.encode("utf-16"),
    "html": b"<html><head><title>Tea</title></head><body><h1>Tea</h1><p>Hot &amp; green.</p><table><tr><td>1</table>",
    "csv": b'name,minutes\ngreen,2\n"black, strong",4\n',
    "jsonl": b'{"id": "a", "title": "Tea", "text": "Green tea.", "url": "http://x"}\n{"text": "Black tea."}\n',
    "ipynb": json.dumps(_NOTEBOOK).encode(),
    "pdf": make_pdf([["Green tea draws for two minutes."], ["Black tea."]], [("Tea", 0)], "Tea"),
    "docx": make_docx(make_paragraph("Tea", "Heading1") + make_paragraph("Green tea.")),
    "pptx": make_pptx([make_shape("Tea", "title") + make_shape("Green tea.")]),
    "xlsx": make_xlsx({"Tea": [["green", 2], ["black", 4.5]]}),
    "epub": make_epub(["<h1>Tea</h1><p>Green tea.</p>"]),
}


@cache
def _open_store(folder: Path) -> Store:
    return Store(folder)


def _read(path: Path) -> Any:
    dataset = DocumentsDataset(path=path, chunker=SectionChunker(), store=_open_store(path.parent / "store"))
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


DOCUMENT_READERS = {f"document_{suffix}": (_read, [seed]) for suffix, seed in SEEDS.items()}

DOCUMENT_NAMES = {f"document_{suffix}": f"mine.{suffix}" for suffix in SEEDS}
"""Target -> the name of its file."""
