"""Readers: each makes documents of the bytes of a file of one format.

* `plain_text`: plain text, and source code.
* `rtf`: RTF.
* `markdown`: Markdown, with its headings.
* `notebook`: Jupyter notebooks.
* `html`: web pages, with their headings, without navigation.
* `epub`: books.
* `mail`: mails.
* `pdf`: PDF, with its bookmarks as headings, and the values of forms.
* `word`: Word files.
* `powerpoint`: PowerPoint files.
* `opendocument`: OpenDocument texts.
* `csv`: CSV.
* `excel`: Excel files.
* `json`: JSON, and JSONL with one document a line.
* `docling`: PDF, Office, HTML and pictures by docling, with `dataset.reader=docling`.

What they use:

* `encoding`: turns bytes into text.
* `markdown_comments`: removes the comments of Markdown.
* `markdown_lines`: patterns of the lines of Markdown.
* `wrapped_lines`: joins lines that were broken within a sentence.
* `tables`: writes the rows of tables, with the names of their columns.
* `merged_cells`: lays out the cells of a table, also those that span rows and columns.
* `word_tables`, `html_tables`, `markdown_tables`, `sheet_tables`: read the tables of these formats.
* `ruled_tables`: finds tables in a PDF by the lines around their cells.
* `text_builder`: puts the text of a document together.
* `pdf_lines`: the lines of a page of a PDF, with their places.
* `pdf_order`: brings the lines of a page into reading order.
* `pdf_text`: joins the lines of a page, and words that were broken.
* `pdf_bookmarks`: finds the headings of bookmarks.
* `pdf_forms`: reads form fields.
* `archive`: unpacks zip files within bounds, and parses the XML in them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path, PurePosixPath

from convrag import Document
from convrag.sdk.identity import digest, file_hash, find_version
from convrag_documents.find_files import FoundFile


@dataclass(frozen=True, slots=True)
class Reader:
    """The way in which files of a format are read.

    Args:
        format: its name, for messages.
        module: of this package.
        function: of the module. It takes the bytes of a file and yields documents, whose ids are
            the names of the parts of the file; most files have one part, with an empty name. It
            raises Unreadable.
        libraries: distributions whose versions bear on what it yields.
    """

    format: str
    module: str
    function: str
    libraries: tuple[str, ...] = ()

    def read(self, content: bytes) -> Iterator[Document]:
        """Yield the documents of a file. Raises Unreadable, and whatever the library raises for a
        damaged file.
        """
        module = import_module(f"convrag_documents.readers.{self.module}")
        function: Callable[[bytes], Iterator[Document]] = getattr(module, self.function)
        return function(content)

    def make_key(self, content: str) -> str:
        """Make the key of the documents that it reads from contents with a hash."""
        return digest([content, _identify(self)])


_TEXT = Reader("text", "plain_text", "read_text", ("chardet",))
_CODE = """.py .pyi .js .mjs .ts .jsx .tsx .java .kt .scala .c .h .cc .cpp .hpp .cs .go .rs .rb .php
.swift .r .jl .lua .pl .sh .bash .ps1 .bat .sql .yaml .yml .toml .ini .cfg .conf .tex .proto .vue
.css"""
_SUFFIXES = (
    (_TEXT, ("", ".txt", ".text", ".log", ".rst", ".adoc", ".org")),  # without one: README, LICENSE
    (Reader("Markdown", "markdown", "read_markdown", ("chardet",)), (".md", ".markdown", ".mdx")),
    (Reader("HTML", "html", "read_html", ("selectolax", "chardet")), (".html", ".htm", ".xhtml")),
    (Reader("PDF", "pdf", "read_pdf", ("pypdf", "cryptography")), (".pdf",)),
    (Reader("Word file", "word", "read_docx"), (".docx", ".docm")),
    (Reader("PowerPoint file", "powerpoint", "read_pptx"), (".pptx", ".pptm")),
    (Reader("Excel file", "excel", "read_xlsx", ("python-calamine",)), (".xlsx", ".xlsm")),
    (Reader("EPUB", "epub", "read_epub", ("selectolax", "chardet")), (".epub",)),
    (Reader("CSV", "csv", "read_csv", ("chardet",)), (".csv", ".tsv")),
    (Reader("JSONL", "json", "read_jsonl", ("chardet",)), (".jsonl", ".ndjson")),
    (Reader("JSON", "json", "read_json", ("chardet",)), (".json",)),
    (Reader("OpenDocument text", "opendocument", "read_odt"), (".odt",)),
    (Reader("RTF", "rtf", "read_rtf", ("striprtf",)), (".rtf",)),
    (Reader("mail", "mail", "read_mail", ("selectolax", "chardet")), (".eml",)),
    (Reader("source code", "plain_text", "read_code", ("chardet",)), tuple(_CODE.split())),
    (Reader("notebook", "notebook", "read_notebook", ("chardet",)), (".ipynb",)),
)
_BY_SUFFIX = {suffix: reader for reader, suffixes in _SUFFIXES for suffix in suffixes}


_DOCLING = Reader(
    "file for docling", "docling", "read_docling", ("docling-slim", "docling-core", "docling-parse")
)
_PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")
_DOCLING_SUFFIXES = (".pdf", ".docx", ".pptx", ".xlsx", ".html", ".htm", *_PICTURES)


def find_reader(file: FoundFile, *, docling: bool = False) -> Reader | None:
    """Find the reader of a file by its suffix; None where there is none.

    A file that the user named is read as text if there is no other reader.

    Args:
        file: the file.
        docling: whether docling reads the formats that it is good at, and pictures.
    """
    suffix = PurePosixPath(file.id).suffix.lower()
    if docling and suffix in _DOCLING_SUFFIXES:
        return _DOCLING
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    return _TEXT if file.named else None


@cache
def _identify(reader: Reader) -> str:
    """Hash what bears on its documents: the source of all readers, and its libraries' versions."""
    source = [file_hash(path) for path in sorted(Path(__file__).parent.glob("*.py"))]
    versions = {name: find_version(name) for name in reader.libraries}
    return digest([reader.format, reader.module, reader.function, versions, source])
