"""The base of data sets that are read as their publishers' files are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from convrag import Conversation, ConvragError, DataError, Dataset, Passage, UnknownName
from convrag.sdk.identity import digest, hash_modules
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.corpus import fingerprint_corpus, hash_content, read_passages
from convrag_datasets.qrels import Qrels

Grades = Mapping[str, Mapping[str, int]]
"""Turn id -> passage id -> grade of relevance."""


@dataclass(frozen=True)
class Contents:
    """What the files of a data set say. `rewrites` are by kind ("manual") and turn id."""

    conversations: tuple[Conversation, ...]
    grades: Grades = field(default_factory=dict)
    rewrites: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    note: str = ""


class PublishedDataset(Dataset):
    """Conversations, qrels and rewrites of a publisher's files, and a corpus that the user may add.

    A subclass says what is read (`read_contents`) and from where (`list_files`); its constructor calls this one.

    Args:
        corpus: JSONL file of passages, as dataset=jsonl reads them; None where there is none.
        domain: the name of the corpus in outputs.
    """

    no_corpus: ClassVar[str] = ""
    """Why there are no passages, and where to get them, for whoever searches them."""

    corpus_code: ClassVar[tuple[str, ...]] = ()
    """The modules that read the corpus where it is not as dataset=jsonl has it; a change of them is another corpus."""

    def __init__(self, *, corpus: Path | None, domain: str) -> None:
        self._corpus = corpus
        self._domain = domain
        self.contents = Lazy(self.read_contents)

    @abstractmethod
    def read_contents(self) -> Contents:
        """Read the files. Raises DataError."""

    @abstractmethod
    def list_files(self) -> Iterable[Path]:
        """The files that are read, for the hash of their contents; those that are missing do not count."""

    def check(self) -> Iterable[str]:
        """The errors of the files, and of the beginning of the corpus."""
        corpus = [partial(self._check_first_passage, self._corpus)] if self._corpus else []
        return collect_problems(self.contents, *corpus)

    def content_hash(self) -> str:
        """A hash of all files."""
        try:
            files = [*self.list_files(), *filter(None, [self._corpus])]
        except ConvragError:
            return ""  # check() reports what is wrong
        return digest([[path.name, hash_content(path)] for path in files])

    def note(self) -> str:
        """What is missing, where that bears on scores."""
        try:
            return self.contents().note
        except ConvragError:
            return ""

    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations in the order of the files. Raises DataError."""
        return iter(self.contents().conversations)

    def domains(self) -> Sequence[str]:
        """The one domain of all."""
        return (self._domain,)

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the passages; none where no corpus was given. Raises DataError."""
        self._check_domain(domain)
        return self.read_corpus(self._corpus) if self._corpus else iter(())

    def read_corpus(self, path: Path) -> Iterator[Passage]:
        """Stream the passages of the corpus that was given. Raises DataError."""
        return read_passages(path)

    def corpus_fingerprint(self, domain: str) -> str:
        """A hash of the corpus file and of the code that reads it. Raises DataError where it is missing."""
        self._check_domain(domain)
        return self.hash_corpus(self._corpus) if self._corpus else digest([])

    def hash_corpus(self, path: Path) -> str:
        """A hash of a file of passages, and of the code that reads it. Raises DataError where it is missing."""
        return digest([fingerprint_corpus(path), hash_modules(*self.corpus_code)])

    def explain_missing_corpus(self, domain: str) -> str:
        """Where the passages are to be had."""
        return self.no_corpus

    def qrels(self) -> Grades:
        """Turn id -> passage id -> grade of relevance. Raises DataError."""
        return self.contents().grades

    def rewrites(self) -> Mapping[str, Mapping[str, str]]:
        """Kind of rewrite -> turn id -> rewritten question. Raises DataError."""
        return self.contents().rewrites

    def _check_first_passage(self, path: Path) -> None:
        if next(self.read_corpus(path), None) is None:
            raise DataError("this corpus holds no passages", path=path)

    def _check_domain(self, domain: str) -> None:
        if domain not in self.domains():
            raise UnknownName("the corpus", domain, self.domains())


def read_grades(path: Path | None, conversations: Iterable[Conversation]) -> Grades:
    """The qrels of a file; none where there is no file. Raises DataError where they are about other turns."""
    if path is None:
        return {}
    qrels = Qrels(path)
    qrels.require_turns({turn.id for conversation in conversations for turn in conversation.turns})
    return qrels.grades


def grade_passages(conversations: Iterable[Conversation]) -> Grades:
    """Judge the passages of each turn, those that its answer is based on, as relevant (grade 1)."""
    turns = (turn for conversation in conversations for turn in conversation.turns)
    return {turn.id: {passage.id: 1 for passage in turn.passages} for turn in turns if turn.passages}


def find_file(folders: Sequence[Path], *names: str) -> Path | None:
    """The first file of these names in the first of the folders that has one; None where none has."""
    candidates = (folder / name for folder in folders for name in names)
    return next((path for path in candidates if path.is_file()), None)


def require_file(folders: Sequence[Path], *names: str, source: str) -> Path:
    """The first of these files that is there.

    Args:
        folders: where they may be; the first is the data set's own.
        names: of the file, the current one first.
        source: what the folder must be a copy of, for the message.

    Raises:
        DataError: there is none of them, or no folder.
    """
    if found := find_file(folders, *names):
        return found
    if not folders[0].is_dir() and not any(folder.is_dir() for folder in folders):
        raise DataError(f"this folder does not exist; dataset.path must be a copy of {source}", path=folders[0])
    raise DataError(f"it holds no {' or '.join(names)}; dataset.path must be a copy of {source}", path=folders[0])


def hide_blank(texts: Mapping[str, str]) -> dict[str, str]:
    """Those of the texts that are not blank."""
    return {name: text for name, text in texts.items() if text.strip()}
