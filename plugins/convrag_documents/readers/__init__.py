"""Readers: each makes documents of the bytes of a file of one format.

* `plain_text`: plain text, and source code.
* `rtf`: RTF.
* `markdown`: Markdown, with its headings.
* `restructuredtext`: reStructuredText, with its sections.
* `manual_page`: manual pages, with their sections.
* `notebook`: Jupyter notebooks.
* `html`: web pages, with their headings, without navigation.
* `epub`: books.
* `mail`: mails.
* `pdf`: PDF, with its bookmarks as headings, and the values of forms.
* `word`: Word files.
* `powerpoint`: PowerPoint files.
* `opendocument`: OpenDocument texts.
* `csv`: CSV and TSV.
* `excel`: Excel files.
* `json`: JSON, and JSONL with one document a line.
* `docling`: PDF, Office, HTML and pictures by docling, with `dataset.reader=docling`.

What they use:

* `mail_encodings`: turns bytes of a mail into text, by the encoding that it declares.
* `front_matter`: the title and other fields before the text of Markdown.
* `markdown_comments`: removes the comments of Markdown.
* `markdown_signs`: reads entities, attributes and other signs of Markdown.
* `markdown_lines`: patterns of the lines of Markdown.
* `rst_sections`, `rst_inline`, `rst_directives`, `rst_tables`, `rst_names`: the parts of
  reStructuredText.
* `manual_text`: the escapes and the words of manual pages.
* `wrapped_lines`: joins lines that were broken within a sentence.
* `delimited_rows`: splits CSV and TSV into rows.
* `tables`: writes the rows of tables, with the names of their columns.
* `merged_cells`: lays out the cells of a table, also those that span rows and columns.
* `word_tables`, `html_tables`, `markdown_tables`, `sheet_tables`: read the tables of these formats.
* `ruled_tables`: finds tables in a PDF by the lines around their cells.
* `text_builder`: puts the text of a document together.
* `rtf_tokens`: the tokens of RTF.
* `rtf_flow`: its text as paragraphs, headings, lists and tables.
* `raised_text`: writes exponents, indices and the readings of characters.
* `formulas`: writes formulas in a line.
* `tidy_text`: removes soft hyphens and the like from a document.
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
from convrag_documents.readers.tidy_text import tidy_document


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
        has_includes: whether a file of the format may include others.
    """

    format: str
    module: str
    function: str
    libraries: tuple[str, ...] = ()
    has_includes: bool = False

    def read(self, content: bytes) -> Iterator[Document]:
        """Yield the documents of a file, without characters that are not seen, but for source code.

        Raises Unreadable, and whatever the library raises for a damaged file.
        """
        module = import_module(f"convrag_documents.readers.{self.module}")
        function: Callable[[bytes], Iterator[Document]] = getattr(module, self.function)
        documents = function(content)
        return documents if self.function == "read_code" else map(tidy_document, documents)

    def make_key(self, content: str) -> str:
        """Make the key of the documents that it reads from contents with a hash."""
        return digest([content, _identify(self)])


_PAGE_LIBRARIES = ("selectolax", "chardet", "webencodings")
_MANUAL = Reader("manual page", "manual_page", "read_manual_page", ("chardet",))
_MANUAL_OR_TEXT = Reader("text", "manual_page", "read_manual_page_or_text", ("chardet",))
_TEXT = Reader("text", "plain_text", "read_text", ("chardet",))
_CODE = """.py .pyi .js .mjs .ts .jsx .tsx .java .kt .scala .c .h .cc .cpp .hpp .cs .go .rs .rb .php
.swift .r .jl .lua .pl .sh .bash .ps1 .bat .sql .yaml .yml .toml .ini .cfg .conf .tex .proto .vue
.css"""
_SUFFIXES = (
    (_TEXT, ("", ".txt", ".text", ".log", ".adoc", ".org")),  # without one: README, LICENSE
    (
        Reader("reStructuredText", "restructuredtext", "read_rst", ("chardet",), has_includes=True),
        (".rst", ".rest", ".rst.txt"),  # Sphinx copies its sources to _sources/index.rst.txt
    ),
    (_MANUAL, (*(f".{section}" for section in range(1, 10)), ".man")),
    (Reader("Markdown", "markdown", "read_markdown", ("chardet",)), (".md", ".markdown", ".mdx")),
    (Reader("HTML", "html", "read_html", _PAGE_LIBRARIES), (".html", ".htm", ".xhtml")),
    (Reader("PDF", "pdf", "read_pdf", ("pypdf", "cryptography")), (".pdf",)),
    (Reader("Word file", "word", "read_docx"), (".docx", ".docm")),
    (Reader("PowerPoint file", "powerpoint", "read_pptx"), (".pptx", ".pptm")),
    (Reader("Excel file", "excel", "read_xlsx", ("python-calamine",)), (".xlsx", ".xlsm")),
    (Reader("EPUB", "epub", "read_epub", _PAGE_LIBRARIES), (".epub",)),
    (Reader("CSV", "csv", "read_csv", ("chardet",)), (".csv",)),
    (Reader("TSV", "csv", "read_tsv", ("chardet",)), (".tsv", ".tab")),
    (Reader("JSONL", "json", "read_jsonl", ("chardet",)), (".jsonl", ".ndjson")),
    (Reader("JSON", "json", "read_json", ("chardet",)), (".json",)),
    (Reader("OpenDocument text", "opendocument", "read_odt"), (".odt",)),
    (Reader("RTF", "rtf", "read_rtf"), (".rtf",)),
    (Reader("mail", "mail", "read_mail", _PAGE_LIBRARIES), (".eml",)),
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

    A file that the user named is read as text if there is no other reader, or if it only has the
    suffix of a manual page.

    Args:
        file: the file.
        docling: whether docling reads the formats that it is good at, and pictures.
    """
    suffixes = PurePosixPath(file.id).suffixes[-2:]
    suffix = suffixes[-1].lower() if suffixes else ""
    if docling and suffix in _DOCLING_SUFFIXES:
        return _DOCLING
    for known in ("".join(suffixes).lower(), suffix):
        if known in _BY_SUFFIX:
            reader = _BY_SUFFIX[known]
            return _MANUAL_OR_TEXT if file.named and reader is _MANUAL else reader
    return _TEXT if file.named else None


@cache
def _identify(reader: Reader) -> str:
    """Hash what bears on its documents: the source of all readers, and its libraries' versions."""
    source = [file_hash(path) for path in sorted(Path(__file__).parent.glob("*.py"))]
    versions = {name: find_version(name) for name in reader.libraries}
    return digest([reader.format, reader.module, reader.function, versions, source])
