"""The base of data sets that are read from files: your own sets, and published ones."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from convrag import Conversation, ConvragError, DataError, Dataset, Passage, Turn, UnknownName
from convrag.sdk.identity import digest, hash_modules
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.corpus import fingerprint_corpus, hash_content, read_passages
from convrag_datasets.row_files import Columns

Grades = Mapping[str, Mapping[str, int]]
"""Turn id -> passage id -> grade of relevance."""


@dataclass(frozen=True)
class Contents:
    """What the files of a data set say. `rewrites` are by kind ("manual") and turn id."""

    conversations: tuple[Conversation, ...]
    grades: Grades = field(default_factory=dict)
    rewrites: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    note: str = ""


class FileDataset(Dataset):
    """Conversations, qrels and rewrites of files, and a corpus for each domain.

    A subclass says what is read (`read_contents`) and from where (`list_files`); its constructor
    calls this one.

    Args:
        corpus: file of passages, as dataset=jsonl reads them; None where there is none.
        domain: the name of the corpus in outputs.
        corpus_columns: fields of the corpus whose columns have other names.
    """

    no_corpus: ClassVar[str] = ""
    """Why there are no passages, and where to get them, for whoever searches them."""

    corpus_code: ClassVar[tuple[str, ...]] = ()
    """The modules that read the corpus where it is not as dataset=jsonl has it; a change of them is
    another corpus.
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
        """The files that are read beside the corpus, for the hash of their contents; each has its
        place in the list.
        """

    def find_corpus(self, domain: str) -> Path | None:
        """The file of a domain's passages; None where there is none. Raises DataError where it is
        missing.
        """
        return self._corpus

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the passages of a domain's file. Raises DataError."""
        return read_passages(path, self._corpus_columns)

    def check(self) -> Iterable[str]:
        """The errors of the files, and of the beginnings of the corpora."""
        if problems := collect_problems(self.domains):
            return problems
        corpora = [partial(self._check_first_passage, domain) for domain in self.domains()]
        return collect_problems(self.contents, *corpora)

    def content_hash(self) -> str:
        """A hash of all files, whatever they are called and wherever they lie; empty where there is
        none.
        """
        try:
            files = [*self.list_files(), self._corpus]
        except ConvragError:
            return ""  # check() reports what is wrong
        return digest([path and hash_content(path) for path in files]) if any(files) else ""

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
        path = self._find_known(domain)
        return self.read_corpus(path, domain) if path else iter(())

    def corpus_fingerprint(self, domain: str) -> str:
        """A hash of the corpus file and of the code that reads it. Raises DataError where it is
        missing.
        """
        if not (path := self._find_known(domain)):
            return digest([])
        return digest(
            [fingerprint_corpus(path, self._corpus_columns), hash_modules(*self.corpus_code)]
        )

    def explain_missing_corpus(self, domain: str) -> str:
        """Where the passages are to be had."""
        return self.no_corpus

    def qrels(self) -> Grades:
        """Turn id -> passage id -> grade of relevance. Raises DataError."""
        return self.contents().grades

    def rewrites(self) -> Mapping[str, Mapping[str, str]]:
        """Kind of rewrite -> turn id -> rewritten question. Raises DataError."""
        return self.contents().rewrites

    def _find_known(self, domain: str) -> Path | None:
        if domain not in self.domains():
            raise UnknownName("the corpus", domain, self.domains())
        return self.find_corpus(domain)

    def _check_first_passage(self, domain: str) -> None:
        next(self.corpus(domain), None)


def grade_passages(conversations: Iterable[Conversation]) -> Grades:
    """Judge the passages of each turn, those that its answer is based on, as relevant (grade 1)."""
    turns = (turn for conversation in conversations for turn in conversation.turns)
    return {
        turn.id: {passage.id: 1 for passage in turn.passages} for turn in turns if turn.passages
    }


def add_texts(
    conversations: Sequence[Conversation], passages: Iterable[Passage]
) -> Iterator[Conversation]:
    """Add the passages that each turn's label `provenance` names, and their texts as its answer
    where it has none.

    The passages are read once, and only those that are named are kept. Raises what reading them
    raises.
    """
    turns = (turn for each in conversations for turn in (*each.history, *each.turns))
    wanted = {name for turn in turns for name in turn.labels.get("provenance", ())}
    found = (
        {passage.id: passage for passage in passages if passage.id in wanted and passage.text}
        if wanted
        else {}
    )

    def add(turn: Turn) -> Turn:
        named = (found[name] for name in turn.labels.get("provenance", ()) if name in found)
        texts = turn.passages or tuple(named)
        return replace(
            turn, passages=texts, answer=turn.answer or "\n".join(passage.text for passage in texts)
        )

    for each in conversations:
        yield replace(
            each, turns=tuple(map(add, each.turns)), history=tuple(map(add, each.history))
        )


def find_file(folders: Sequence[Path], *names: str) -> Path | None:
    """The first file of these names in the first of the folders that has one; None where none has."""
    candidates = (folder / name for folder in folders for name in names)
    return next((path for path in candidates if path.is_file()), None)


def choose_domains(wanted: str, known: Sequence[str]) -> Sequence[str]:
    """The names in "a+b", each once, of `dataset.domain`; all for "all". Raises UnknownName for one
    that is unknown.
    """
    return known if wanted == "all" else split_names(wanted, known, "dataset.domain", "all")


def split_names(wanted: str, known: Sequence[str], option: str, *more: str) -> list[str]:
    """The names in "a+b", each once. Raises UnknownName for one that is not known."""
    names = list(dict.fromkeys(name.strip() for name in wanted.split("+")))
    for name in names:
        if name not in known:
            raise UnknownName(option, name, [*known, *more])
    return names


class PublishedDataset(FileDataset):
    """A data set in a copy of what its publisher has.

    Args:
        folders: where its files may be.
        corpus: file of passages, as dataset=jsonl reads them; None where there is none.
        domain: the name of the corpus in outputs.
    """

    source: ClassVar[str]
    """What `dataset.path` must be a copy of, for messages."""

    def __init__(
        self, *, folders: Sequence[Path], corpus: Path | None = None, domain: str = "default"
    ) -> None:
        super().__init__(corpus=corpus, domain=domain)
        self._folders = folders
        self.contents = Lazy(self._read_some)

    def find(self, *names: str) -> Path | None:
        """The first file of these names in the first folder that has one; None where none has."""
        return find_file(self._folders, *names)

    def require(self, *names: str) -> Path:
        """The first file of these names. Raises DataError where there is none, or no folder."""
        if found := self.find(*names):
            return found
        folder = next(filter(Path.is_dir, self._folders), None)
        missing = f"it holds no {' or '.join(names)}" if folder else "this folder does not exist"
        message = f"{missing}; dataset.path must be a copy of {self.source}"
        raise DataError(message, path=folder or self._folders[0])

    def _read_some(self) -> Contents:
        contents = self.read_contents()
        if not contents.conversations:
            raise DataError(
                "this file holds no conversations", path=next(filter(None, self.list_files()))
            )
        return contents
