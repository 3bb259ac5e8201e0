"""Readers: each makes documents of the bytes of a file of one format.

* `text`: plain text, source code, RTF, and what encoding bytes are in.
* `markdown`: Markdown with its headings, and Jupyter notebooks.
* `html`: the text of a page with its headings, without what surrounds it, books (EPUB), and mails.
* `pdf`: pages, and headings where the file has bookmarks.
* `office`: Word, PowerPoint and OpenDocument texts.
* `tables`: CSV and Excel; JSON, and JSONL, a document a line.
* `docling`: PDF, Office, HTML and pictures by docling, with `dataset.reader=docling`.

What they use: text puts a text together, archive unpacks zip files within bounds, and parses the
XML in them.
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
    """How files of a format are read.

    `function` is the name of a function in the module of this package, which takes the bytes of a
    file and yields documents; their ids are the names of the parts of the file; most files have
    one, with an empty name. It raises Unreadable. `libraries` are distributions whose versions bear
    on what it yields.
    """

    format: str
    module: str
    function: str
    libraries: tuple[str, ...] = ()

    def read(self, content: bytes) -> Iterator[Document]:
        """Yield the documents of a file. Raises Unreadable, and whatever the library raises for a
        damaged file.
        """
        function: Callable[[bytes], Iterator[Document]]
        function = getattr(import_module(f"convrag_documents.readers.{self.module}"), self.function)
        return function(content)

    def make_key(self, content: str) -> str:
        """Make the key of what the reader makes of contents with a hash."""
        return digest([content, _identify(self)])


_TEXT = Reader("text", "text", "read_text", ("chardet",))
_CODE = """.py .pyi .js .mjs .ts .jsx .tsx .java .kt .scala .c .h .cc .cpp .hpp .cs .go .rs .rb .php .swift .r .jl .lua
.pl .sh .bash .ps1 .bat .sql .yaml .yml .toml .ini .cfg .conf .tex .proto .vue .css"""
_SUFFIXES = (
    (_TEXT, ("", ".txt", ".text", ".log", ".rst", ".adoc", ".org")),  # without one: README, LICENSE
    (Reader("Markdown", "markdown", "read_markdown", ("chardet",)), (".md", ".markdown", ".mdx")),
    (Reader("HTML", "html", "read_html", ("selectolax", "chardet")), (".html", ".htm", ".xhtml")),
    (Reader("PDF", "pdf", "read_pdf", ("pypdf", "cryptography")), (".pdf",)),
    (Reader("Word file", "office", "read_docx"), (".docx", ".docm")),
    (Reader("PowerPoint file", "office", "read_pptx"), (".pptx", ".pptm")),
    (Reader("Excel file", "tables", "read_xlsx", ("python-calamine",)), (".xlsx", ".xlsm")),
    (Reader("EPUB", "html", "read_epub", ("selectolax", "chardet")), (".epub",)),
    (Reader("CSV", "tables", "read_csv", ("chardet",)), (".csv", ".tsv")),
    (Reader("JSONL", "tables", "read_jsonl", ("chardet",)), (".jsonl", ".ndjson")),
    (Reader("JSON", "tables", "read_json", ("chardet",)), (".json",)),
    (Reader("OpenDocument text", "office", "read_odt"), (".odt",)),
    (Reader("RTF", "text", "read_rtf", ("striprtf",)), (".rtf",)),
    (Reader("mail", "html", "read_mail", ("selectolax", "chardet")), (".eml",)),
    (Reader("source code", "text", "read_code", ("chardet",)), tuple(_CODE.split())),
    (Reader("notebook", "markdown", "read_notebook", ("chardet",)), (".ipynb",)),
)
_BY_SUFFIX = {suffix: reader for reader, suffixes in _SUFFIXES for suffix in suffixes}


_DOCLING = Reader(
    "file for docling", "docling", "read_docling", ("docling-slim", "docling-core", "docling-parse")
)
_PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")
_OF_DOCLING = (".pdf", ".docx", ".pptx", ".xlsx", ".html", ".htm", *_PICTURES)


def find_reader(file: FoundFile, *, docling: bool = False) -> Reader | None:
    """Find the reader of a file by its suffix. What the user named, and no other reader is for, is
    read as text.

    With `docling`, what it is good at is read by it, and pictures too.
    """
    suffix = PurePosixPath(file.id).suffix.lower()
    if docling and suffix in _OF_DOCLING:
        return _DOCLING
    return _BY_SUFFIX.get(suffix) or (_TEXT if file.named else None)


@cache
def _identify(reader: Reader) -> str:
    """Hash what bears on what a reader yields: the source of all readers, and the versions of its
    libraries.
    """
    source = [file_hash(path) for path in sorted(Path(__file__).parent.glob("*.py"))]
    versions = {name: find_version(name) for name in reader.libraries}
    return digest([reader.format, reader.module, reader.function, versions, source])
