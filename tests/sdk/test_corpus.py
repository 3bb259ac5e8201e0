"""The copy of a corpus in the store: passages come back type for type, and a damaged copy is made again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toys
from convrag.api.errors import ConvragError
from convrag.api.stages import Dataset
from convrag.api.types import Passage
from convrag.sdk.corpus import Corpus
from convrag.store.store import Store


class Data(toys.ToyDataset):
    """A corpus with the given metadata, which counts how often it is read."""

    def __init__(self, **metadata: Any) -> None:
        super().__init__()
        self.metadata = metadata
        self.read = 0

    def corpus(self, domain: str) -> Iterator[Passage]:
        self.read += 1
        return iter([Passage(f"p{n}", f"half a pair: \ud800 {n}", metadata=self.metadata) for n in range(3)])

    def corpus_fingerprint(self, domain: str) -> str:
        return "f"


def test_metadata_come_back_type_for_type(tmp_path: Path) -> None:
    data = Data(span=(1, 2), pages={3, 4}, weight=np.float32(0.5), best=float("inf"), raw=b"x", years={1999: "a"})
    for _ in range(2):
        passages = list(Corpus(data, "default", Store(tmp_path)))
        assert passages == [Passage(f"p{n}", f"half a pair: \ud800 {n}", metadata=data.metadata) for n in range(3)]
        assert isinstance(passages[0].metadata["weight"], np.float32)
    assert data.read == 1


def test_metadata_that_cannot_be_kept_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConvragError, match="the passage 'p0' of the domain 'default' holds an object of .* metadata.x"):
        Corpus(Data(x=object()), "default", Store(tmp_path))


def test_a_damaged_copy_is_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = Data()
    first = list(Corpus(data, "default", Store(tmp_path)))
    (file,) = tmp_path.rglob("passages.sqlite")
    file.write_bytes(file.read_bytes()[:5000])
    assert list(Corpus(data, "default", Store(tmp_path))) == first
    assert data.read == 2
    assert f"{file.parent}: passages.sqlite is damaged; it is built again" in caplog.text


def test_another_metadatum_is_another_corpus() -> None:
    one, same, other = (Dataset.corpus_fingerprint(Data(year=year), "default") for year in (1969, 1969, 1972))
    assert one == same != other
    assert Dataset.corpus_fingerprint(Data(tags={"a", "b"}), "default") != one
