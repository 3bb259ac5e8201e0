"""The base of data sets that are read from files: your own sets, and published ones."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from convrag import Conversation, ConvragError, Dataset, Passage, UnknownName
from convrag.sdk.identity import digest, hash_modules
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.files.passages import fingerprint_corpus, hash_content, read_passages
from convrag_datasets.files.rows import Columns

Grades = Mapping[str, Mapping[str, int]]
"""Turn id -> passage id -> grade of relevance."""


@dataclass(frozen=True)
class Contents:
    """The contents of a data set's files, without its corpus.

    Args:
        conversations: in the order of the files.
        grades: of relevance.
        rewrites: kind ("manual") -> turn id -> rewritten question.
        note: says what is missing, if that bears on scores.
    """

    conversations: tuple[Conversation, ...]
    grades: Grades = field(default_factory=dict)
    rewrites: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    note: str = ""


class FileDataset(Dataset):
    """Conversations, qrels and rewrites of files, and a corpus for each domain.

    A subclass has two methods: `read_contents` reads the files and `list_files` names them. Its
    constructor calls this one.

    Args:
        corpus: file of passages, as dataset=jsonl reads them; None where there is none.
        domain: the name of the corpus in outputs.
        corpus_columns: fields of the corpus whose columns have other names.
    """

    no_corpus: ClassVar[str] = ""
    """Says why there are no passages, and where to get them."""

    corpus_code: ClassVar[tuple[str, ...]] = ()
    """The modules that read a corpus of another form than dataset=jsonl's.

    A change of them makes another corpus.
    """

    def __init__(
        self, *, corpus: Path | None, domain: str, corpus_columns: Columns | None = None
    ) -> None:
        self._corpus = corpus
        self._domain = domain
        self._corpus_columns = corpus_columns
        self.contents = Lazy(self.read_contents)

    @abstractmethod
    def read_contents(self) -> Contents:
        """Read the files. Raises DataError."""

    @abstractmethod
    def list_files(self) -> Iterable[Path | None]:
        """List the files that are read next to the corpus, for the hash of their contents.

        A file that is missing is None, so that each file keeps its place in the list.
        """

    def find_corpus(self, domain: str) -> Path | None:
        """Find the file of a domain's passages; None where no corpus was given.

        Raises DataError where it is missing.
        """
        return self._corpus

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the passages of a domain's file. Raises DataError."""
        return read_passages(path, self._corpus_columns)

    def check(self) -> Iterable[str]:
        """Return the errors of the files, and of the beginnings of the corpora."""
        problems = collect_problems(self.domains)
        if problems:
            return problems
        corpora = [partial(self._check_first_passage, domain) for domain in self.domains()]
        return collect_problems(self.contents, *corpora)

    def content_hash(self) -> str:
        """Return a hash of the contents of all files, without their paths; empty without files."""
        try:
            files = [*self.list_files(), self._corpus]
        except ConvragError:
            return ""  # check() reports what is wrong
        if not any(files):
            return ""
        return digest([hash_content(path) if path else None for path in files])

    def note(self) -> str:
        """Say what is missing, if that bears on scores."""
        try:
            return self.contents().note
        except ConvragError:
            return ""

    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations in the order of the files. Raises DataError."""
        return iter(self.contents().conversations)

    def domains(self) -> Sequence[str]:
        """Return the one domain of all conversations."""
        return (self._domain,)

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the passages; none where no corpus was given. Raises DataError."""
        path = self._find_known(domain)
        return self.read_corpus(path, domain) if path else iter(())

    def corpus_fingerprint(self, domain: str) -> str:
        """Return a hash of the corpus file and of the code that reads it.

        Raises DataError where the file is missing.
        """
        path = self._find_known(domain)
        if path is None:
            return digest([])
        file = fingerprint_corpus(path, self._corpus_columns)
        return digest([file, self.hash_corpus_code()])

    def hash_corpus_code(self) -> str:
        """Return a hash of the modules that read the corpus."""
        return hash_modules(*self.corpus_code)

    def explain_missing_corpus(self, domain: str) -> str:
        """Say where to get the passages."""
        return self.no_corpus

    def qrels(self) -> Grades:
        """Return the qrels: turn id -> passage id -> grade of relevance. Raises DataError."""
        return self.contents().grades

    def rewrites(self) -> Mapping[str, Mapping[str, str]]:
        """Return the rewrites: kind -> turn id -> rewritten question. Raises DataError."""
        return self.contents().rewrites

    def _find_known(self, domain: str) -> Path | None:
        if domain not in self.domains():
            raise UnknownName("the corpus", domain, self.domains())
        return self.find_corpus(domain)

    def _check_first_passage(self, domain: str) -> None:
        next(self.corpus(domain), None)
