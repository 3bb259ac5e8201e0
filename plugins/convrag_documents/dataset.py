"""dataset=documents: a folder of documents, cut into passages."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Interval

from convrag import (
    Chunker,
    ConfigError,
    Conversation,
    ConvragError,
    DataError,
    Dataset,
    Document,
    Passage,
    Store,
    UnknownName,
)
from convrag.sdk.files import find_stored_path
from convrag.sdk.identity import digest, file_hash, hash_modules
from convrag.sdk.lazy import Lazy, collect_problems
from convrag.sdk.output.printable import make_printable
from convrag.sdk.types import CorpusPart
from convrag_documents.catalog import Catalog, CatalogReader, ReadFile
from convrag_documents.fields import add_file_fields, describe_file
from convrag_documents.find_files import FoundFiles, Selection, find_files, make_suffixes
from convrag_documents.unread_log import UnreadLog
from convrag_documents.unreadable import describe_unread

_DEFAULT = "default"


class DocumentsDataset(Dataset):
    """Your documents in a folder: Markdown, text, code, HTML, PDF, Office, mails, CSV, JSON, EPUB.

    RTF and notebooks, too. `python -m convrag task=chat dataset=documents dataset.path=~/handbook`
    answers questions about the files in the folder. Files that cannot be read are listed, with the
    reason. A file is read once: the store keeps its text until the file changes.

    Args:
        path: a folder, a file, or several: '[~/handbook,~/notes.txt]'.
        chunker: cuts the documents into passages; by default the run's.
        include: patterns as in .gitignore, of the files to read: '*.md', or '[*.md,policies/]'; ()
            reads all.
        exclude: patterns of the files and folders to leave out.
        ignored: also read hidden files, and files that git ignores.
        text: ends of names, of the kinds of files to read as text where there is no other reader:
            '[inc,conf.in]'.
        domains: "one" makes one corpus of all files, called default; "folders" makes one of each
            sub-folder, with its name, and puts the files next to them into default.
        max_megabytes: the size of the largest file that is read, in millions of bytes.
        reader: light has a reader of its own for each format; docling (extra `docling`) reads PDF,
            Office, HTML and pictures with models for columns, tables and printed letters, and takes
            seconds for a page.
        file_dates: give each document the day of its file's last change as the field `date`, unless
            its front matter has one. A file that is only touched is then indexed again.

    Raises:
        ConfigError: no path is given, or a pattern or the end of a name is malformed.
    """

    libraries = ("chardet", "pathspec", "pypdf", "python-calamine", "selectolax", "webencodings")

    def __init__(
        self,
        *,
        path: Path | Sequence[Path],
        chunker: Chunker,
        store: Store,
        include: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        ignored: bool = False,
        text: str | Sequence[str] = (),
        domains: Literal["one", "folders"] = "one",
        max_megabytes: Annotated[float, Interval(gt=0, lt=1_000_000)] = 50,
        reader: Literal["light", "docling"] = "light",
        file_dates: bool = False,
    ) -> None:
        self._paths = [path] if isinstance(path, Path) else list(path)
        if not self._paths:
            raise ConfigError("dataset.path=[]: name a folder or a file")
        self._chunker = chunker
        self._file_dates = file_dates
        self._selection = Selection(
            include=_list_patterns(include),
            exclude=_list_patterns(exclude),
            ignored=ignored,
            text=make_suffixes(_list_patterns(text)),
            store=store.path,
        )
        self._by_folder = domains == "folders"
        stored_paths = [find_stored_path(path.expanduser()) for path in self._paths]
        real_paths = [os.path.realpath(path) for path in stored_paths]
        self._key = digest([real_paths, self._selection])
        self._unread_log = UnreadLog(self._key, store.path / f"unread-{self._key[:8]}.txt")
        self._reader = CatalogReader(store, int(max_megabytes * 1e6), docling=reader == "docling")
        self._catalog = Lazy(self._read_catalog)
        self._by_domain = Lazy(self._group_files)
        self._places = Lazy(self._place_documents)

    def check(self) -> Iterable[str]:
        """Read new and changed files; return the error where there is nothing to read.

        Logs a warning of the files that could not be read, or of those that changed since the last.
        """
        problems = collect_problems(self._catalog)
        if problems:
            return problems
        catalog = self._catalog()
        self._unread_log.log(catalog.unread, catalog.list_ids())
        return ()

    def content_hash(self) -> str:
        """Return a hash of the contents of all files that were read, and of their readers."""
        try:
            files = self._catalog().files
        except ConvragError:
            return digest([])  # check() reports what is wrong
        return digest([[_hash_fields_code()], *(self._identify(read) for read in files)])

    def note(self) -> str:
        """Say how many files could not be read, and where they are listed."""
        catalog = self._catalog()
        return self._unread_log.describe_briefly(catalog.unread, catalog.list_ids())

    def conversations(self) -> Iterator[Conversation]:
        """Yield nothing: documents have no conversations."""
        return iter(())

    def domains(self) -> Sequence[str]:
        """Return the corpora that have files: `default`, or the sub-folders.

        Raises DataError where nothing can be read.
        """
        return list(self._by_domain())

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Yield the passages of all documents, in the order of their ids. Raises DataError."""
        return chain.from_iterable(part.read() for part in self.corpus_parts(domain))

    def corpus_parts(self, domain: str) -> Iterator[CorpusPart]:
        """Yield the passages of each document.

        Their key is made of the contents of the file, its reader and the chunker.
        """
        chunker = self._chunker.fingerprint  # empty where it was built by hand
        for read in self._list_files(domain):
            for part, document_id in read.list_documents():
                identity = [document_id, part, *self._identify(read), chunker, _hash_fields_code()]
                key = digest(identity) if chunker else ""
                yield CorpusPart(key, partial(self._cut_into_passages, read, part, document_id))

    def corpus_fingerprint(self, domain: str) -> str:
        """Return a hash of the files of a domain, of their readers and of the chunker."""
        if not self._chunker.fingerprint:  # it was built by hand
            return super().corpus_fingerprint(domain)
        files = [self._identify(read) for read in self._list_files(domain)]
        return digest([files, self._chunker.fingerprint, _hash_fields_code()])

    def document(self, domain: str, document_id: str) -> Document | None:
        """Return the document with an id, as it was read; None where the domain has none."""
        self._check_domain(domain)
        place = self._places().get(document_id)
        if place is None:
            return None
        read, part = place
        if self._name_domain(read) != domain:
            return None
        return self._load(read, part, document_id)

    def document_file(self, domain: str, document_id: str) -> Path | None:
        """Return the file of a document, if it is still a file of the folder, not a link."""
        if domain not in self.domains():
            return None
        place = self._places().get(document_id)
        if place is None or self._name_domain(place[0]) != domain:
            return None
        path = place[0].file.path
        is_same_file = os.path.realpath(path) == path and os.path.isfile(path)  # noqa: PTH113
        return Path(path) if is_same_file else None

    def _cut_into_passages(self, read: ReadFile, part: str, document_id: str) -> Sequence[Passage]:
        return self._chunker.chunk(self._load(read, part, document_id))

    def _load(self, read: ReadFile, part: str, document_id: str) -> Document:
        """Load a document, with the fields of its file."""
        document = self._reader.load(read, part, document_id)
        return add_file_fields(document, read, dated=self._file_dates)

    def _identify(self, read: ReadFile) -> list[str]:
        """Return what the passages of a file are made of, but for the chunker."""
        identity = [read.file.id, read.key]
        if self._file_dates:
            identity.append(describe_file(read, dated=True)["date"])
        return identity

    def _read_catalog(self) -> Catalog:
        found = find_files(self._paths, self._selection)
        catalog = self._reader.read(found, self._key)
        if not catalog.files:
            raise DataError(_describe_nothing(found, catalog), path=self._paths[0])
        return catalog

    def _group_files(self) -> dict[str, list[ReadFile]]:
        groups: dict[str, list[ReadFile]] = {}
        for read in self._catalog().files:
            groups.setdefault(self._name_domain(read), []).append(read)
        return dict(sorted(groups.items()))

    def _place_documents(self) -> dict[str, tuple[ReadFile, str]]:
        """Map the id of each document to its file, and its part of that."""
        places = {}
        for read in self._catalog().files:
            for part, document_id in read.list_documents():
                places[document_id] = (read, part)
        return places

    def _name_domain(self, read: ReadFile) -> str:
        folder, slash, _ = read.file.id.partition("/")
        is_in_folder = slash != ""
        return folder if is_in_folder and self._by_folder else _DEFAULT

    def _list_files(self, domain: str) -> Sequence[ReadFile]:
        self._check_domain(domain)
        return self._by_domain()[domain]

    def _check_domain(self, domain: str) -> None:
        if domain not in self._by_domain():
            raise UnknownName("the corpus", domain, self.domains())


@cache
def _hash_fields_code() -> str:
    """Hash the code that makes the fields of files."""
    own = file_hash(Path(__file__).with_name("fields.py"))
    return digest([own, hash_modules("convrag.sdk.data.fields")])


def _list_patterns(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _describe_nothing(found: FoundFiles, catalog: Catalog) -> str:
    """Say why nothing was read."""
    if found.files:
        reason = "there is no document here that can be read."
    else:
        reason = "there is no file here."
    if catalog.unread:
        details = describe_unread(catalog.unread, ())
    else:
        details = (
            "What is hidden, ignored by git or excluded is left out "
            "(dataset.ignored, include, exclude)."
        )
    return make_printable(f"{reason} {details}")
