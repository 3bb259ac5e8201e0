"""dataset=huggingface: a data set of the Hugging Face hub, or a copy of one."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from convrag import ConfigError, DataError, Dataset, Passage, UnknownName
from convrag.sdk.data.jsonl import data_suffix
from convrag.sdk.lazy import Lazy
from convrag_datasets.file_dataset import Contents, FileDataset
from convrag_datasets.files.conversations import make_conversations
from convrag_datasets.files.passages import make_passages
from convrag_datasets.files.row import Row
from convrag_datasets.files.rows import SUFFIXES, Columns, read_rows
from convrag_datasets.hub import download, is_path

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
    """A data set of the Hugging Face hub, or a folder of Parquet, JSONL or CSV files.

        python -m convrag dataset=huggingface dataset.name=acme/talks
        python -m convrag dataset=huggingface dataset.name=talks/

    A row is a conversation (`id` and `messages` or `turns`), a turn (`conversation_id`, `question`,
    maybe `turn` and `answer`), or a question that stands alone (`question`, maybe `id` and
    `answer`). `relevant`, a list of passage ids, are the qrels of its question. A row of the corpus
    has `id`, `text`, and maybe `title` and `url`.

    The files of a name on the hub are downloaded into the hub's own cache (HF_HOME), only those of
    the split and the subset. Where the hub cannot be reached, the cache is read. Programs of a data
    set are never run. Parquet is read with pyarrow.

    Args:
        name: a name on the hub (BeIR/scifact), a folder or a file.
        split: which split; the names of files tell theirs (data/test-00000-of-00001.parquet).
        subset: a folder in the data set.
        columns: fields whose columns have other names, as {question: prompt, answer: response}.
        labels: columns of turns that are labels, by which scores are broken down.
        corpus: the name, folder or file of the passages; without it there is no retrieval.
        corpus_subset: as `subset`, for the corpus.
        corpus_split: as `split`, for the corpus; by default all of it.
        corpus_columns: fields of the corpus whose columns have other names, as {id: _id}.
        revision: a branch, tag or commit of the data set on the hub; the hub's own copy of many
            sets in Parquet is refs/convert/parquet, with a folder for each configuration.
        corpus_revision: as `revision`, for the corpus.
    """

    env_vars = ("HF_TOKEN",)

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
        revision: str = "",
        corpus_revision: str = "",
    ) -> None:
        if not name.strip():
            raise ConfigError("dataset.name is empty: give a name on the hub, or a folder")
        super().__init__(corpus=None, domain="default")
        self._table = HubTable(name, split, subset, columns or {}, revision)
        self._passages = None
        if corpus:
            self._passages = HubTable(
                corpus, corpus_split, corpus_subset, corpus_columns or {}, corpus_revision
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

_PART = re.compile(r"(.*)-([0-9]{4,6})-of-([0-9]{4,6})")
"""The beginning of the name of a part of a table: test-00000-of-00002.parquet."""

_DESCRIPTION = re.compile(r"dataset_infos?|dataset_dict|state|dataset_config")
"""The names of files that describe the tables next to them."""


class HubTable:
    """A table on the hub or in a folder.

    Args:
        name: a name on the hub, a folder or a file.
        split: of the rows; empty for all rows.
        subset: a folder in the data set.
        columns: fields whose columns have other names.
        revision: of a name on the hub; empty for the newest one.
    """

    def __init__(
        self, name: str, split: str, subset: str, columns: Columns, revision: str = ""
    ) -> None:
        self.path = Path(name).expanduser()
        self._name = name
        self._split = split
        self._subset = subset
        self._columns = columns
        self._revision = revision
        self._root = Lazy(self._find_root)

    def rows(self) -> Iterator[Row]:
        """Stream the rows.

        Raises:
            DataError: a file cannot be read.
            ConfigError: the hub cannot be reached, or has no such data set.
            MissingExtra: a library is not installed.
            UnknownName: there is no such split.
        """
        return chain.from_iterable(read_rows(path, self._columns) for path in self.list_files())

    def list_files(self) -> list[Path]:
        """List the files of the split by name, as `rows` reads them."""
        root = self._root()
        if root.is_file():
            return [root]
        folder = root / self._subset
        if not folder.is_dir():
            raise DataError("there is no such folder", path=folder)
        paths = [path.relative_to(root) for path in folder.rglob("*") if path.is_file()]
        return [root / path for path in self._choose(paths)]

    def _find_root(self) -> Path:
        """Find the file or the folder of the data set, and download it where it is on the hub."""
        if is_path(self._name):
            return self.path
        return download(self._name, self._revision, self._choose)

    def _choose(self, paths: Sequence[Path]) -> list[Path]:
        """Choose the tables of the subset and the split from all files of the data set.

        Raises:
            DataError: there is no table, or a part of one is missing.
            UnknownName: there is no such split.
        """
        subset = Path(self._subset)
        inner = [path.relative_to(subset) for path in paths if path.is_relative_to(subset)]
        tables = sorted(path for path in inner if _is_table(path))
        if not tables:
            raise DataError(
                f"there is no file of rows ({', '.join(SUFFIXES)})", path=self.path / subset
            )
        splits = {path: _name_split(path) for path in tables}
        known = {split for split in splits.values() if split}
        if self._split and known:
            wanted = _SPLITS.get(self._split, self._split)
            if wanted not in known:
                raise UnknownName("dataset.split", self._split, known)
            tables = [path for path, split in splits.items() if split == wanted]
        _check_parts(tables, self.path / subset)
        return [subset / path for path in tables]


def _check_parts(tables: Sequence[Path], folder: Path) -> None:
    """Raise DataError where a part of a table is missing, as after an interrupted download."""
    numbers: dict[tuple[Path, str, int], set[int]] = {}
    for table in tables:
        found = _PART.match(table.name)
        if found is not None:
            name, number, count = found.groups()
            numbers.setdefault((table.parent, name, int(count)), set()).add(int(number))
    for (parent, name, count), present in numbers.items():
        missing = [number for number in range(count) if number not in present]
        if missing:
            raise DataError(
                f"{len(missing)} of {count} parts of {(parent / name).as_posix()} are missing, "
                f"number {missing[0]} for instance (parts count from 0)",
                path=folder,
            )


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
