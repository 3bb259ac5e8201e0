"""The base of published data sets, and what several of them need."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from convrag import Conversation, DataError, Passage, Turn, UnknownName
from convrag.sdk.lazy import Lazy
from convrag_datasets.file_dataset import Contents, FileDataset, Grades


class PublishedDataset(FileDataset):
    """A copy of a published data set.

    Args:
        folders: its files may be in any of them.
        corpus: file of passages, as dataset=jsonl reads them; None where there is none.
        domain: the name of the corpus in outputs.
    """

    source: ClassVar[str]
    """The published original of `dataset.path`, for messages."""

    def __init__(
        self, *, folders: Sequence[Path], corpus: Path | None = None, domain: str = "default"
    ) -> None:
        super().__init__(corpus=corpus, domain=domain)
        self._folders = folders
        self.contents = Lazy(self._read_some)

    def find(self, *names: str) -> Path | None:
        """Find the first file of these names in the first folder that has one."""
        return find_file(self._folders, *names)

    def require(self, *names: str) -> Path:
        """Find the first file of these names. Raises DataError where there is none."""
        found = self.find(*names)
        if found is not None:
            return found
        folder = next((folder for folder in self._folders if folder.is_dir()), None)
        if folder is None:
            problem = "this folder does not exist"
        else:
            problem = f"it holds no {' or '.join(names)}"
        message = f"{problem}; dataset.path must be a copy of {self.source}"
        raise DataError(message, path=folder or self._folders[0])

    def _read_some(self) -> Contents:
        """Read the contents. Raises DataError where there are no conversations."""
        contents = self.read_contents()
        if not contents.conversations:
            file = next(file for file in self.list_files() if file is not None)
            raise DataError("this file holds no conversations", path=file)
        return contents


def find_file(folders: Sequence[Path], *names: str) -> Path | None:
    """Find the first file of these names in the first folder that has one; None where none has."""
    for folder in folders:
        for name in names:
            path = folder / name
            if path.is_file():
                return path
    return None


def choose_domains(wanted: str, known: Sequence[str]) -> Sequence[str]:
    """Return the domains in "a+b", each once; all for "all". Raises UnknownName."""
    if wanted == "all":
        return known
    return split_names(wanted, known, "dataset.domain", "all")


def split_names(wanted: str, known: Sequence[str], option: str, *more: str) -> list[str]:
    """Return the names in "a+b", each once.

    Args:
        wanted: the joined names.
        known: the names that may be chosen.
        option: for the message.
        more: other values of the option, for the message.

    Raises:
        UnknownName: a name is not known.
    """
    names = list(dict.fromkeys(name.strip() for name in wanted.split("+")))
    for name in names:
        if name not in known:
            raise UnknownName(option, name, [*known, *more])
    return names


def grade_passages(conversations: Iterable[Conversation]) -> Grades:
    """Judge the passages of each turn, which its answer is based on, as relevant (grade 1)."""
    grades = {}
    for conversation in conversations:
        for turn in conversation.turns:
            if turn.passages:
                grades[turn.id] = {passage.id: 1 for passage in turn.passages}
    return grades


def add_texts(
    conversations: Sequence[Conversation], passages: Iterable[Passage]
) -> Iterator[Conversation]:
    """Add the passages that each turn's label `provenance` names.

    Their texts are the answer of a turn without one. The passages are read once, and only those
    that are named are kept in memory.

    Raises:
        Exception: any error of reading the passages.
    """
    wanted: set[str] = set()
    for conversation in conversations:
        for turn in (*conversation.history, *conversation.turns):
            wanted.update(_list_provenance(turn))
    found: dict[str, Passage] = {}
    if wanted:
        for passage in passages:
            if passage.id in wanted and passage.text:
                found[passage.id] = passage
    for conversation in conversations:
        yield replace(
            conversation,
            turns=tuple(_add_texts_to_turn(turn, found) for turn in conversation.turns),
            history=tuple(_add_texts_to_turn(turn, found) for turn in conversation.history),
        )


def _list_provenance(turn: Turn) -> Sequence[str]:
    provenance: Sequence[str] = turn.labels.get("provenance", ())
    return provenance


def _add_texts_to_turn(turn: Turn, found: dict[str, Passage]) -> Turn:
    passages = turn.passages
    if not passages:
        passages = tuple(found[name] for name in _list_provenance(turn) if name in found)
    answer = turn.answer or "\n".join(passage.text for passage in passages)
    return replace(turn, passages=passages, answer=answer)
