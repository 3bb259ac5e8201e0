"""`dataset.reader=docling` with docling's own readers. Its models for the layout of PDFs and
pictures are not here.
"""

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from convrag import Document
from convrag.api.errors import ConfigError, MissingExtra
from convrag.sdk.text.unreadable import Unreadable
from convrag.store.store import Store
from convrag_chunkers.sentences import SentenceChunker
from convrag_documents.dataset import DocumentsDataset
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import docling as reading, find_reader
from document_files import make_pdf, make_xlsx

HTML = b"""<html><head><title>Tea</title></head><body><nav>Home</nav><h1>Tea</h1><p>Kettles boil water.</p>
<h2>Prices</h2><ul><li>first</li><li>second</li></ul><table><tr><th colspan="2">kind and price</th></tr>
<tr><td>green</td><td>3 euros</td></tr></table><p>Closed on Mondays.</p></body></html>"""


def read(name: str, content: bytes) -> Document:
    reader = find_reader(FoundFile(name, name), docling=True)
    assert reader is not None
    assert reader.module == "docling"
    (document,) = reader.read(content)
    return document


def list_headings(document: Document) -> list[tuple[int, str]]:
    for heading in document.headings:
        assert document.text[heading.start :].startswith(heading.text)
    return [(heading.level, heading.text) for heading in document.headings]


def list_pages(document: Document) -> list[str]:
    ends = [*document.pages[1:], len(document.text)]
    return [
        document.text[start:end].strip() for start, end in zip(document.pages, ends, strict=True)
    ]


def save(made: Any) -> bytes:
    stream = BytesIO()
    made.save(stream)
    return stream.getvalue()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of docling about itself
class TestReading:
    @pytest.fixture(autouse=True)
    def _docling(self) -> None:
        pytest.importorskip("docling.document_converter")

    def test_a_page_keeps_its_headings_lists_and_tables(self) -> None:
        document = read("tea.html", HTML)
        assert document.title == "Tea"
        assert list_headings(document) == [(1, "Tea"), (2, "Prices")]
        assert document.text.split("\n\n")[1:] == [
            "Kettles boil water.",
            "Prices",
            "- first\n- second",
            "kind and price\ngreen | 3 euros",
            "Closed on Mondays.",
        ]

    def test_word_files_have_headings_and_tables(self) -> None:
        from docx import Document as WordFile

        made = WordFile()
        made.add_heading("Leave", 1)
        made.add_paragraph("Everyone has 28 days.")
        table = made.add_table(rows=2, cols=2)
        for cell, text in zip(
            (*table.rows[0].cells, *table.rows[1].cells), ("kind", "days", "sick", "9"), strict=True
        ):
            cell.text = text
        document = read("leave.DOCX", save(made))
        assert [text for _, text in list_headings(document)] == ["Leave"]
        assert document.text.endswith("Everyone has 28 days.\n\nkind: sick; days: 9")

    def test_slides_are_pages(self) -> None:
        from pptx import Presentation

        made = Presentation()
        for title, text in (("Kettles", "They boil."), ("Cups", "They break.")):
            slide = made.slides.add_slide(made.slide_layouts[1])
            slide.shapes.title.text, slide.placeholders[1].text = title, text
        document = read("talk.pptx", save(made))
        assert document.page_name == "slide"
        assert [page.split()[0] for page in list_pages(document)] == ["Kettles", "Cups"]

    def test_sheets_are_tables(self) -> None:
        document = read("prices.xlsx", make_xlsx({"Prices": [["tea", "price"], ["green", 3]]}))
        assert "tea: green; price: 3" in document.text

    def test_places_in_a_pdf_are_those_of_its_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from docling.datamodel.base_models import InputFormat
        from docling.datamodel.pipeline_options import NativePdfPipelineOptions
        from docling.document_converter import DocumentConverter, PdfFormatOption
        from docling.pipeline.native_pdf_pipeline import NativePdfPipeline

        without_models = PdfFormatOption(
            pipeline_cls=NativePdfPipeline, pipeline_options=NativePdfPipelineOptions()
        )
        converter = DocumentConverter(format_options={InputFormat.PDF: without_models})
        monkeypatch.setattr(reading, "_load_converter", lambda: converter)
        document = read(
            "tea.pdf", make_pdf([["Kettles boil."], [], ["Cups break.", "So do pots."]])
        )
        assert list_pages(document) == ["Kettles boil.", "", "Cups break.\n\nSo do pots."]

    def test_a_broken_file_is_no_reason_to_stop(self) -> None:
        for name in ("tea.pdf", "tea.docx", "tea.png"):
            with pytest.raises(Unreadable):
                read(
                    name,
                    {"tea.pdf": b"%PDF-1.4 nonsense", "tea.png": b"\x89PNG\r\n\x1a\n"}.get(
                        name, b"PK\x03\x04"
                    ),
                )

    @pytest.mark.parametrize("artifacts", [None, Path("/nowhere")])
    def test_models_that_are_not_here_stop_the_run_and_are_not_remembered(
        self, artifacts: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from docling.datamodel.settings import settings

        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setattr(settings, "artifacts_path", artifacts)
        reading._load_converter.cache_clear()
        folder = tmp_path / "docs"
        folder.mkdir()
        (folder / "tea.pdf").write_bytes(make_pdf([["Kettles boil."]]))
        for _ in range(2):
            dataset = DocumentsDataset(
                path=folder,
                chunker=SentenceChunker(),
                store=Store(tmp_path / "store"),
                reader="docling",
            )
            with pytest.raises(ConfigError, match="docling-tools models download"):
                dataset.domains()


def test_what_docling_does_not_read_is_read_as_ever() -> None:
    reader = find_reader(FoundFile("notes.md", "notes.md"), docling=True)
    assert reader is find_reader(FoundFile("notes.md", "notes.md"))
    assert find_reader(FoundFile("scan.png", "scan.png")) is None


def test_docling_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docling.datamodel.base_models", None)
    with pytest.raises(
        MissingExtra,
        match=r"dataset\.reader=docling needs docling.*-c constraints.txt 'convrag\[docling\]'",
    ):
        read("tea.html", HTML)
