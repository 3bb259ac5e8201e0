"""Rows of a table of the Hugging Face hub, or of the files of one in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from convrag import ConfigError, DataError, UnknownName
from convrag.sdk.errors import MissingExtra
from convrag.sdk.jsonl import data_suffix
from convrag_datasets.row_files import SUFFIXES, Columns, read_rows, rename_fields
from convrag_datasets.rows import Row

_SPLITS = {"train": "train", "training": "train", "test": "test", "testing": "test", "eval": "test"}
_SPLITS |= dict.fromkeys(("dev", "valid", "validation", "val"), "validation")
_PATIENCE = 4.0  # seconds until the hub must answer
_NO_TABLE = re.compile(r"dataset_infos?|dataset_dict|state|dataset_config")  # descriptions beside the tables


class HubTable:
    """A table of the hub, or of a folder.

    Args:
        name: a name of the hub, or a folder or file.
        split: which rows; all if empty.
        subset: a configuration of the hub's data set, or a folder in the folder.
        columns: fields whose columns have other names.
        revision: the commit or tag of the hub's data set.
    """

    def __init__(self, name: str, split: str, subset: str, columns: Columns, revision: str) -> None:
        self.name = name
        self.path = Path(name).expanduser()
        self.is_local = self.path.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1
        self._split = split
        self._subset = subset
        self._columns = columns
        self._revision = revision

    def rows(self) -> Iterator[Row]:
        """Stream the rows.

        Raises:
            DataError: a file cannot be read.
            ConfigError: the hub cannot be reached, or has no such data set.
            MissingExtra: a library is not installed.
            UnknownName: there is no such split.
        """
        if self.is_local:
            return chain.from_iterable(read_rows(path, self._columns) for path in self.list_files())
        return self._read_hub()

    def list_files(self) -> list[Path]:
        """The files of the split, in the order of their names. Raises DataError, UnknownName."""
        if self.path.is_file():
            return [self.path]
        folder = self.path / self._subset if self._subset else self.path
        if not folder.is_dir():
            raise DataError("there is no such file or folder", path=folder)
        files = sorted(path for path in folder.rglob("*") if _is_table(path.relative_to(folder)) and path.is_file())
        if not files:
            raise DataError(f"this folder holds no file of rows ({', '.join(SUFFIXES)})", path=folder)
        splits = {path: _name_split(path.relative_to(folder)) for path in files}
        if not self._split or not any(splits.values()):
            return files
        wanted = _SPLITS.get(self._split, self._split)
        if chosen := [path for path, split in splits.items() if wanted == split]:
            return chosen
        raise UnknownName("dataset.split", self._split, {split for split in splits.values() if split})

    def _read_hub(self) -> Iterator[Row]:
        try:
            import datasets
            from huggingface_hub import HfApi, constants
        except ImportError as error:
            raise MissingExtra("datasets", "convrag[huggingface]", f"reading {self.name!r} from the hub") from error
        given: dict[str, Any] = {"revision": self._revision or None, "split": self._split or "all"}
        try:
            if not constants.HF_HUB_OFFLINE:  # load_dataset asks five times in 20 s where the hub does not answer
                HfApi().dataset_info(self.name, revision=given["revision"], timeout=_PATIENCE)
            rows = datasets.load_dataset(self.name, self._subset or None, **given)
        except Exception as error:  # it raises what each of its parts raises; all of them concern this name
            reason = " ".join(str(error.__cause__ or error).split())[:300]
            raise ConfigError(
                f"dataset=huggingface: {self.name!r} is no folder here, and cannot be loaded from the hub: {reason}. "
                "Give dataset.name a folder of Parquet, JSONL or CSV files, or set HF_HUB_OFFLINE=1 if the cache has it"
            ) from error
        for number, data in enumerate(rows, 1):
            yield rename_fields(Row(dict(data), self.path, place=f"row {number}"), self._columns)


def _is_table(path: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.parts)
    return not hidden and data_suffix(path).lower() in SUFFIXES and not _NO_TABLE.fullmatch(path.stem)


def _name_split(path: Path) -> str:
    """The split that a path names: "test" of data/test-00000-of-00001.parquet; empty where it names none."""
    words = re.split(r"[^a-z]+", str(path).lower())
    return next((_SPLITS[word] for word in reversed(words) if word in _SPLITS), "")
