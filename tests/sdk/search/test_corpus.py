"""The copy of a corpus in the store: passages come back type for type, and a damaged copy is made
again.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import toys
from convrag import ConvragError, Dataset, Passage, Store
from convrag.api.documents import CorpusPart
from convrag.sdk.search.corpus import Corpus


class Data(toys.ToyDataset):
    """A corpus with the given metadata, which counts how often it is read."""

    def __init__(self, **metadata: Any) -> None:
        super().__init__()
        self.metadata = metadata
        self.read = 0

    def corpus(self, domain: str) -> Iterator[Passage]:
        self.read += 1
        return iter(
            [Passage(f"p{n}", f"half a pair: \ud800 {n}", metadata=self.metadata) for n in range(3)]
        )

    def corpus_fingerprint(self, domain: str) -> str:
        return "f"


def test_metadata_come_back_type_for_type(tmp_path: Path) -> None:
    data = Data(
        span=(1, 2),
        pages={3, 4},
        weight=np.float32(0.5),
        best=float("inf"),
        raw=b"x",
        years={1999: "a"},
    )
    for _ in range(2):
        passages = list(Corpus(data, "default", Store(tmp_path)))
        assert passages == [
            Passage(f"p{n}", f"half a pair: \ud800 {n}", metadata=data.metadata) for n in range(3)
        ]
        assert isinstance(passages[0].metadata["weight"], np.float32)
    assert data.read == 1


def test_the_passages_around_one_come_in_order(tmp_path: Path) -> None:
    corpus = Corpus(Data(), "default", Store(tmp_path))

    def around(*where: Any) -> list[str]:
        return [passage.id for passage in corpus.get_around(*where)]

    assert around("p1", 1, 1) == ["p0", "p1", "p2"]
    assert around("p0", 2, 1) == ["p0", "p1"]
    assert around("p2", 1, 5) == ["p1", "p2"]
    assert around("p1", 0, 0) == ["p1"]
    assert around("unknown", 1, 1) == []


def test_metadata_that_cannot_be_kept_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConvragError,
        match="the passage 'p0' of the domain 'default' holds an object of .* metadata.x",
    ):
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
    one, same, other = (
        Dataset.corpus_fingerprint(Data(year=year), "default") for year in (1969, 1969, 1972)
    )
    assert one == same != other
    assert Dataset.corpus_fingerprint(Data(tags={"a", "b"}), "default") != one


class Parts(toys.ToyDataset):
    """A corpus of documents, name -> texts; it counts the documents that are read."""

    series = "documents"

    def __init__(self, documents: dict[str, list[str]]) -> None:
        super().__init__()
        self.documents = documents
        self.read: list[str] = []

    def corpus(self, domain: str) -> Iterator[Passage]:
        for part in self.corpus_parts(domain):
            yield from part.read()

    def corpus_parts(self, domain: str) -> Iterator[CorpusPart]:
        for name, texts in self.documents.items():
            yield CorpusPart(
                repr((name, texts)) if texts[0] != "no key" else "", partial(self.cut, name)
            )

    def cut(self, name: str) -> Iterator[Passage]:
        self.read.append(name)
        for number, text in enumerate(self.documents[name], 1):
            yield Passage(f"{name}#{number}", text, metadata={"number": number})


def copy_rows(corpus: Corpus) -> list[tuple[object, ...]]:
    return corpus._select("SELECT position, id, text_hash, passage FROM passages ORDER BY position")


def test_only_new_and_changed_documents_are_read(tmp_path: Path) -> None:
    documents = {
        "a": ["one", "two"],
        "b": ["three"],
        "c": ["no key", "four"],
        "d": ["five", "six", "seven"],
    }
    first = Parts(documents)
    Corpus(first, "default", Store(tmp_path))
    assert first.read.count("a") == first.read.count("d") == 2  # once for the fingerprint
    changed = Parts(
        {"0": ["zero"], "d": documents["d"], "b": ["three", "and a half"], "c": documents["c"]}
    )
    changed.corpus_fingerprint = lambda domain: "changed"  # type: ignore[method-assign]
    corpus = Corpus(changed, "default", Store(tmp_path))
    assert changed.read == ["0", "b", "c"]
    fresh = Corpus(Parts(changed.documents), "default", Store(tmp_path / "fresh"))
    assert copy_rows(corpus) == copy_rows(fresh)


texts = st.lists(st.text(max_size=3), min_size=1, max_size=4)
states = st.dictionaries(st.text("abcdef", min_size=1, max_size=2), texts, min_size=1, max_size=6)


@settings(max_examples=30)
@given(st.lists(states, min_size=2, max_size=4))
def test_a_copy_after_changes_equals_a_fresh_one(changes: list[dict[str, list[str]]]) -> None:
    with TemporaryDirectory() as folder:
        for number, documents in enumerate(changes):
            corpus = Corpus(Parts(documents), "default", Store(Path(folder) / "one"))
            fresh = Corpus(Parts(documents), "default", Store(Path(folder) / str(number)))
            assert copy_rows(corpus) == copy_rows(fresh)
            assert list(corpus) == list(Parts(documents).corpus("default"))


def test_a_store_in_a_folder_of_any_name(tmp_path: Path) -> None:
    """A question mark ended the name, and a percent sign began a character."""
    store = Store(tmp_path / "what? 100%41 #1")
    assert [passage.id for passage in Corpus(Data(), "default", store)] == ["p0", "p1", "p2"]
