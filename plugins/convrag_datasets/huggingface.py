"""dataset=huggingface: a data set of the Hugging Face hub, or a folder of its files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from convrag import ConfigError, ConvragError, Dataset, Passage
from convrag.sdk.identity import digest
from convrag_datasets.conversations import make_conversations
from convrag_datasets.corpus import hash_content, make_passages
from convrag_datasets.file_dataset import Contents, FileDataset
from convrag_datasets.hub_rows import HubTable
from convrag_datasets.rows import Row

_RELEVANT = "relevant"
_FIELDS = ("id", "conversation_id", "turn", "question", "answer", "role", "content", "passages", _RELEVANT)


class HuggingfaceDataset(FileDataset):
    """A data set of the Hugging Face hub, or a folder of its Parquet, JSONL or CSV files.

    A row is a conversation (`id` and `messages` or `turns`), a turn (`conversation_id`, `question`, maybe `turn` and
    `answer`), or a question that stands alone (`question`, maybe `id` and `answer`). `relevant`, a list of passage ids,
    are the qrels of its question. A row of the corpus has `id`, `text`, and maybe `title` and `url`.

    A folder is read with pyarrow alone. A name of the hub needs `datasets`, which downloads it once.

    Args:
        name: the name on the hub (BeIR/scifact), or a folder or file.
        split: which split; the names of a folder's files tell theirs (data/test-00000-of-00001.parquet).
        subset: a configuration of the hub's data set, or a folder in the folder.
        columns: fields whose columns have other names, as {question: prompt, answer: response}.
        labels: columns of turns that are labels, by which scores are broken down.
        corpus: the name, folder or file of the passages; without it there is no retrieval.
        corpus_subset: as `subset`, for the corpus.
        corpus_split: as `split`, for the corpus; by default all of it.
        corpus_columns: fields of the corpus whose columns have other names, as {id: _id}.
        revision: the commit or tag of the hub's data set.
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
        revision: str = "",
    ) -> None:
        if not name.strip():
            raise ConfigError("dataset.name is empty: give a name of the Hugging Face hub, or a folder")
        super().__init__(corpus=None, domain="default")
        self._table = HubTable(name, split, subset, columns or {}, revision)
        self._passages = (
            HubTable(corpus, corpus_split, corpus_subset, corpus_columns or {}, revision) if corpus else None
        )
        self._fields = {*_FIELDS, *labels}

    def list_files(self) -> Iterable[Path]:
        """All files of folders; none where a part is the hub's, which its name and revision identify."""
        tables = [table for table in (self._table, self._passages) if table]
        if not all(table.is_local for table in tables):
            return []
        return [path for table in tables for path in table.list_files()]

    def content_hash(self) -> str:
        """A hash of all files."""
        try:
            files = list(self.list_files())
        except ConvragError:
            return ""  # check() reports what is wrong
        return digest(list(map(hash_content, files))) if files else ""

    def find_corpus(self, domain: str) -> Path | None:
        """The folder of the passages, or their name on the hub; None where no corpus was given."""
        return self._passages.path if self._passages else None

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the passages. Raises DataError."""
        return make_passages(self._passages.rows(), path) if self._passages else iter(())

    def corpus_fingerprint(self, domain: str) -> str:
        """A hash of all texts."""
        return Dataset.corpus_fingerprint(self, domain)

    def read_contents(self) -> Contents:
        """Read the conversations; the column `relevant` has their qrels. Raises DataError."""
        rows = (_prepare_row(row, number, self._fields) for number, row in enumerate(self._table.rows(), 1))
        conversations, grades = [], {}
        for conversation in make_conversations(rows, "default", self._table.path):
            turns = []
            for turn in conversation.turns:
                labels = dict(turn.labels)
                if relevant := labels.pop(_RELEVANT, None):
                    grades[turn.id] = dict.fromkeys(relevant, 1)
                turns.append(replace(turn, labels=labels))
            conversations.append(replace(conversation, turns=tuple(turns)))
        return Contents(tuple(conversations), grades)


def _prepare_row(row: Row, number: int, fields: Collection[str]) -> Row:
    """A row as files of conversations have it: with ids, and with these fields alone."""
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
    """A list of objects; some files hold it as an object of lists: {"role": ["user"], "content": ["Why?"]}."""
    if not isinstance(value, Mapping) or not value or not all(isinstance(each, list) for each in value.values()):
        return value
    return [dict(zip(value, fields, strict=True)) for fields in zip_longest(*value.values())]
