"""dataset=huggingface: a copy of a data set of the Hugging Face hub."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from convrag import ConfigError, DataError, Dataset, Passage, UnknownName
from convrag.sdk.data.jsonl import data_suffix
from convrag_datasets.file_dataset import Contents, FileDataset
from convrag_datasets.files.conversations import make_conversations
from convrag_datasets.files.passages import make_passages
from convrag_datasets.files.row import Row
from convrag_datasets.files.rows import SUFFIXES, Columns, read_rows

_RELEVANT = "relevant"
_FIELDS = (
    "id",
    "conversation_id",
    "turn",
    "question",
    "answer",
    "role",
    "content",
    "passages",
    _RELEVANT,
)


class HuggingfaceDataset(FileDataset):
    """A copy of a data set of the Hugging Face hub: a folder of Parquet, JSONL or CSV files.

        hf download BeIR/scifact --repo-type dataset --local-dir scifact

    A row is a conversation (`id` and `messages` or `turns`), a turn (`conversation_id`, `question`,
    maybe `turn` and `answer`), or a question that stands alone (`question`, maybe `id` and
    `answer`). `relevant`, a list of passage ids, are the qrels of its question. A row of the corpus
    has `id`, `text`, and maybe `title` and `url`.

    Parquet is read with pyarrow.

    Args:
        name: a folder or a file.
        split: which split; the names of a folder's files tell theirs
            (data/test-00000-of-00001.parquet).
        subset: a folder in the folder.
        columns: fields whose columns have other names, as {question: prompt, answer: response}.
        labels: columns of turns that are labels, by which scores are broken down.
        corpus: the folder or file of the passages; without it there is no retrieval.
        corpus_subset: as `subset`, for the corpus.
        corpus_split: as `split`, for the corpus; by default all of it.
        corpus_columns: fields of the corpus whose columns have other names, as {id: _id}.
    """

    def __init__(
        self,
        *,
        name: str,
        split: str = "test",
        subset: str = "",
        columns: dict[str, str] | None = None,
        labels: Sequence[str] = (),
        corpus: str = "",
        corpus_subset: str = "",
        corpus_split: str = "",
        corpus_columns: dict[str, str] | None = None,
    ) -> None:
        if not name.strip():
            raise ConfigError("dataset.name is empty: give a folder")
        super().__init__(corpus=None, domain="default")
        self._table = HubTable(name, split, subset, columns or {})
        self._passages = (
            HubTable(corpus, corpus_split, corpus_subset, corpus_columns or {}) if corpus else None
        )
        self._fields = {*_FIELDS, *labels}

    def list_files(self) -> Iterable[Path]:
        """List all files of the folders."""
        files = self._table.list_files()
        return files + self._passages.list_files() if self._passages else files

    def find_corpus(self, domain: str) -> Path | None:
        """Find the folder or the file of the passages; None where no corpus was given."""
        return self._passages.path if self._passages else None

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the passages. Raises DataError."""
        return make_passages(self._passages.rows(), path) if self._passages else iter(())

    def corpus_fingerprint(self, domain: str) -> str:
        """Return a hash of all texts."""
        return Dataset.corpus_fingerprint(self, domain)

    def read_contents(self) -> Contents:
        """Read the conversations; the column `relevant` has their qrels. Raises DataError."""
        rows = (
            _prepare_row(row, number, self._fields)
            for number, row in enumerate(self._table.rows(), 1)
        )
        conversations = []
        grades = {}
        for conversation in make_conversations(rows, "default", self._table.path):
            turns = []
            for turn in conversation.turns:
                labels = dict(turn.labels)
                relevant = labels.pop(_RELEVANT, None)
                if relevant:
                    grades[turn.id] = dict.fromkeys(relevant, 1)
                turns.append(replace(turn, labels=labels))
            conversations.append(replace(conversation, turns=tuple(turns)))
        return Contents(tuple(conversations), grades)


def _prepare_row(row: Row, number: int, fields: Collection[str]) -> Row:
    """Return a row as files of conversations have it: with ids, and with these fields alone."""
    data = dict(row.fields)
    for name in ("turns", "messages"):
        if name in data:
            data[name] = _zip_columns(data[name])
            data.setdefault("id", number)
            return replace(row, value=data)
    if "turn_id" in data:
        data["id"] = data.pop("turn_id")
    if "conversation_id" not in data:
        data["conversation_id"] = data.setdefault("id", number)
    data[_RELEVANT] = _read_relevant(row)
    return replace(row, value={name: value for name, value in data.items() if name in fields})


def _read_relevant(row: Row) -> list[str]:
    ids = row.fields.get(_RELEVANT) or []
    if not isinstance(ids, list) or not all(isinstance(each, str | int) for each in ids):
        raise row.error(f"{_RELEVANT!r} must be a list of passage ids")
    return [str(each) for each in ids]


def _zip_columns(value: Any) -> Any:
    """Return a list of objects.

    Some files have an object of lists in its place: {"role": ["user"], "content": ["Why?"]}.
    """
    if not isinstance(value, Mapping) or not value:
        return value
    columns = list(value.values())
    if not all(isinstance(column, list) for column in columns):
        return value
    return [dict(zip(value, fields, strict=True)) for fields in zip_longest(*columns)]


_SPLITS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "dev": "validation",
    "valid": "validation",
    "validation": "validation",
    "val": "validation",
}
"""Word in the path of a file -> the split."""

_DESCRIPTION = re.compile(r"dataset_infos?|dataset_dict|state|dataset_config")
"""The names of files that describe the tables next to them."""


class HubTable:
    """A table in a folder.

    Args:
        name: a folder or a file.
        split: of the rows; empty for all rows.
        subset: a folder in the folder.
        columns: fields whose columns have other names.
    """

    def __init__(self, name: str, split: str, subset: str, columns: Columns) -> None:
        self.name = name
        self.path = Path(name).expanduser()
        self._split = split
        self._subset = subset
        self._columns = columns

    def rows(self) -> Iterator[Row]:
        """Stream the rows.

        Raises:
            DataError: a file cannot be read.
            MissingExtra: a library is not installed.
            UnknownName: there is no such split.
        """
        return chain.from_iterable(read_rows(path, self._columns) for path in self.list_files())

    def list_files(self) -> list[Path]:
        """List the files of the split by name. Raises DataError, UnknownName."""
        if self.path.is_file():
            return [self.path]
        folder = self.path / self._subset if self._subset else self.path
        if not folder.is_dir():
            raise DataError(
                "there is no such folder (of the hub: hf download NAME --repo-type dataset)",
                path=folder,
            )
        files = _list_tables(folder)
        splits = {path: _name_split(path.relative_to(folder)) for path in files}
        known = {split for split in splits.values() if split}
        if not self._split or not known:
            return files
        wanted = _SPLITS.get(self._split, self._split)
        if wanted not in known:
            raise UnknownName("dataset.split", self._split, known)
        return [path for path, split in splits.items() if split == wanted]


def _list_tables(folder: Path) -> list[Path]:
    """List the tables in a folder by name. Raises DataError where there is none."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    files = [path for path in paths if _is_table(path.relative_to(folder))]
    if not files:
        raise DataError(f"this folder holds no file of rows ({', '.join(SUFFIXES)})", path=folder)
    return sorted(files)


def _is_table(path: Path) -> bool:
    is_hidden = any(part.startswith((".", "_")) for part in path.parts)
    is_description = _DESCRIPTION.fullmatch(path.stem) is not None
    return data_suffix(path).lower() in SUFFIXES and not is_hidden and not is_description


def _name_split(path: Path) -> str:
    """Return the split that a path names, "test" for data/test-00000-of-00001.parquet.

    Empty where it names none.
    """
    words = re.split(r"[^a-z]+", str(path).lower())
    for word in reversed(words):
        if word in _SPLITS:
            return _SPLITS[word]
    return ""
