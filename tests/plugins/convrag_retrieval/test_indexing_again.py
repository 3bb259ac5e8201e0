"""Indexing after passages changed: only new texts are worked on, and the result is that of a fresh
build.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from convrag import Conversation, ConvragError, Dataset, Embedder, Passage, Query, Store
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring
from convrag_retrieval.bm25 import BM25Retriever
from convrag_retrieval.dense import DenseRetriever
from convrag_retrieval.vectors import FILE


class Passages(Dataset):
    """Passages that were built by hand, and belong to a series as those of a configured data set do."""

    def __init__(self, passages: Sequence[Passage], series: str = "documents") -> None:
        self.passages = passages
        self.series = series

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        return iter(self.passages)


class Hashing(Embedder):
    """A vector of a text's hash; nothing but the text bears on it. Counts what it embeds, and may be interrupted."""

    series = "hashing"

    def __init__(self, fingerprint: str = "hashing", most: int = 1 << 30) -> None:
        self.fingerprint = fingerprint
        self.most = most
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        if len(self.embedded) + len(texts) > self.most:
            raise KeyboardInterrupt
        if not query:
            self.embedded += texts
        return make_rows(texts)


def make_rows(texts: Sequence[str]) -> Any:
    rows = [
        np.frombuffer(blake2b(text.encode(), digest_size=16).digest(), np.uint8) for text in texts
    ]
    array = np.array(rows, dtype=np.float32).reshape(len(texts), 16) - 127.5
    return (array / np.linalg.norm(array, axis=1, keepdims=True)).astype(np.float32)


def numbered(texts: Sequence[str]) -> list[Passage]:
    return [Passage(f"p{number}", text) for number, text in enumerate(texts)]


def end_command(retriever: Any) -> None:
    """Let go of all folders, as a process does that ends."""
    retriever.store.folders._holds.release()


def index_densely(
    folder: Path, texts: Sequence[str], **parameters: Any
) -> tuple[str, list[str], Any]:
    """What one command does: the sentence that it says, what it embedded, and the rows of the
    index.
    """
    embedder = parameters.pop("embedder", None) or Hashing()
    dataset = Passages(numbered(texts), parameters.pop("series", "documents"))
    retriever = DenseRetriever(
        dataset=dataset, embedder=embedder, store=Store(folder), **{"batch_size": 3, **parameters}
    )
    try:
        (sentence,) = retriever.index()
        return sentence, embedder.embedded, np.array(retriever._open("default").rows.rows.stored)
    finally:
        end_command(retriever)


def index_words(folder: Path, texts: Sequence[str]) -> str:
    """The sentence that is said."""
    retriever = BM25Retriever(dataset=Passages(numbered(texts)), store=Store(folder))
    (sentence,) = retriever.index()
    end_command(retriever)
    return sentence


# The same as a fresh build
# ----------------------------------------------------------------------------------------

TEXTS = st.lists(
    st.lists(
        st.sampled_from(["moon", "sun", "the", "Rockets", "dust", "42", "łódź"]), max_size=6
    ).map(" ".join),
    min_size=1,
    max_size=12,
)


@settings(max_examples=20)
@given(versions=st.lists(TEXTS, min_size=2, max_size=4))
def test_vectors_are_those_of_a_fresh_build_and_no_known_text_is_embedded(
    versions: list[list[str]],
) -> None:
    with TemporaryDirectory() as name:
        known: set[str] = set()
        for texts in versions:
            sentence, embedded, rows = index_densely(Path(name), texts)
            assert np.array_equal(rows, make_rows(texts))
            assert len(embedded) == len(set(embedded))
            assert set(embedded) == set(texts) - known
            kept = sum(text in known for text in texts)
            assert f"{kept} kept" in sentence or not kept or "already" in sentence
            known = set(texts)  # the index before is removed, and what it had beside these texts
            assert (
                len(list(Path(name).glob("indexes/*")))
                == len(list(Path(name).glob("corpora/*")))
                == 1
            )


LIBRARY = [
    f"{subject} {what} number {number}"
    for number in range(30)
    for subject in ("moon", "sun")
    for what in "ab"
]


def test_searches_find_the_same(tmp_path: Path) -> None:
    changed = [text for text in LIBRARY[::-1] if "7" not in text] + [
        "a new moon",
        "moon b number 3",
    ]
    for make in (
        lambda dataset, store: BM25Retriever(dataset=dataset, store=store),
        lambda dataset, store: DenseRetriever(dataset=dataset, store=store, embedder=Hashing()),
    ):
        again, fresh = Store(tmp_path / "again"), Store(tmp_path / "fresh")
        make(Passages(numbered(LIBRARY)), again).prepare()
        one, other = (make(Passages(numbered(changed)), store) for store in (again, fresh))
        for text in ("moon number 3", "sun b", "a new moon"):
            hits = one.retrieve([Query(text)], 50)
            assert hits == other.retrieve([Query(text)], 50)
            assert len(hits) > 1
        assert {hit.passage.text for hit in one.retrieve([Query("moon a number 7")], 500)} <= set(
            changed
        )


# What is said and what is done
# ------------------------------------------------------------------------------------


def test_what_happened_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "convrag_retrieval")
    texts = [f"text {number}" for number in range(1000)]
    assert index_densely(tmp_path, texts)[0] == "default: 1,000 passages: 1,000 embedded"
    assert index_densely(tmp_path, texts)[0] == "default: 1,000 passages are in the index already"
    changed = [*texts[:500], "a new one", *texts[501:998], "another", "text 3"]
    sentence, embedded, _ = index_densely(tmp_path, changed)
    assert sentence == "default: 1,000 passages: 998 kept, 2 embedded, 3 removed"
    assert embedded == ["a new one", "another"]
    assert index_densely(tmp_path, texts[:10])[0] == "default: 10 passages: 10 kept, 989 removed"
    assert caplog.messages[-1] == "Index built of default: 10 passages: 10 kept, 989 removed"
    assert index_words(tmp_path, texts) == "default: 1,000 passages: 1,000 indexed (english)"
    assert index_words(tmp_path, texts) == "default: 1,000 passages are in the index already"


def test_another_data_set_lends_its_rows_and_keeps_them(tmp_path: Path) -> None:
    index_densely(tmp_path, ["moon", "sun"], series="one")
    sentence, embedded, _ = index_densely(tmp_path, ["sun", "dust"], series="other")
    assert (sentence, embedded) == ("default: 2 passages: 1 kept, 1 embedded", ["dust"])
    assert index_densely(tmp_path, ["moon", "sun"], series="one")[1] == []
    assert len(list(tmp_path.glob("indexes/*"))) == 2


def test_another_embedder_lends_nothing(tmp_path: Path) -> None:
    index_densely(tmp_path, ["moon", "sun"])
    assert index_densely(tmp_path, ["moon", "dust"], embedder=Hashing("a new version"))[1] == [
        "moon",
        "dust",
    ]


def test_a_damaged_index_lends_nothing(tmp_path: Path) -> None:
    index_densely(tmp_path, ["moon", "sun"])
    (rows,) = tmp_path.glob(f"indexes/*/{FILE}")
    rows.write_bytes(rows.read_bytes()[:-4] + b"\0\0\0\0")
    _, embedded, found = index_densely(tmp_path, ["moon", "dust"])
    assert embedded == ["moon", "dust"]
    assert np.array_equal(found, make_rows(["moon", "dust"]))


# An embedding that is interrupted
# ---------------------------------------------------------------------------------

MANY = [f"text {number}" for number in range(20)]


def interrupt(folder: Path, texts: Sequence[str], most: int, **parameters: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        index_densely(folder, texts, embedder=Hashing(most=most), **parameters)


def test_an_interrupted_embedding_goes_on_where_it_stopped(tmp_path: Path) -> None:
    interrupt(tmp_path, MANY, 10)
    assert list(tmp_path.glob("indexes/*")) == []
    interrupt(tmp_path, MANY, 5)
    sentence, embedded, rows = index_densely(tmp_path, MANY)
    assert embedded == MANY[12:]
    assert sentence == "default: 20 passages: 12 kept, 8 embedded"
    assert np.array_equal(rows, make_rows(MANY))
    assert list(tmp_path.glob("embedded/*")) == []


def test_it_goes_on_although_passages_have_changed_meanwhile(tmp_path: Path) -> None:
    interrupt(tmp_path, MANY, 10)
    changed = ["new", *MANY[5:], "newer"]
    _, embedded, rows = index_densely(tmp_path, changed)
    assert embedded == ["new", *MANY[9:], "newer"]
    assert np.array_equal(rows, make_rows(changed))
    assert list(tmp_path.glob("embedded/*")) == []


def test_an_interrupted_embedding_of_another_data_set_lends_its_rows(tmp_path: Path) -> None:
    interrupt(tmp_path, MANY, 10, series="other")
    assert index_densely(tmp_path, MANY)[1] == MANY[9:]
    assert len(list(tmp_path.glob("embedded/*"))) == 1, "it is the other's"
    assert index_densely(tmp_path, MANY, series="other")[1] == []


class InParts(Hashing):
    """Gives its rows two at a time, the last ones first, as parallel requests do."""

    def embed_in_parts(self, texts: Sequence[str], keep: Any) -> None:
        for start in reversed(range(0, len(texts), 2)):
            places = range(start, min(start + 2, len(texts)))
            keep(places, self.embed([texts[place] for place in places]))


def test_parts_of_an_interrupted_batch_are_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        index_densely(tmp_path, MANY, embedder=InParts(most=9), batch_size=20)
    _, embedded, rows = index_densely(tmp_path, MANY, embedder=InParts(), batch_size=20)
    assert sorted(embedded) == sorted(MANY[:12])
    assert np.array_equal(rows, make_rows(MANY))


class Narrow(Hashing):
    """Another model under the same name: its vectors are shorter."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        return super().embed(texts, query=query)[:, :8]


def test_vectors_of_another_length_are_an_error(tmp_path: Path) -> None:
    interrupt(tmp_path, MANY, 10)
    with pytest.raises(ConvragError, match="have 16 numbers, and the embedder now gives 8"):
        index_densely(tmp_path, MANY, embedder=Narrow())


@pytest.mark.parametrize("place", [0, 60, 300])
def test_a_damaged_shard_lends_nothing_that_is_wrong(place: int, tmp_path: Path) -> None:
    interrupt(tmp_path, MANY, 10)
    journal = sorted(tmp_path.glob("embedded/*/*"), key=lambda path: path.stat().st_mtime_ns)[-1]
    damaged = bytearray(journal.read_bytes())
    damaged[place] ^= 0x55
    journal.write_bytes(damaged)
    assert np.array_equal(index_densely(tmp_path, MANY)[2], make_rows(MANY))


# Configured data sets
# ---------------------------------------------------------------------------------------------


def write_corpus(path: Path, texts: Sequence[str]) -> None:
    rows = [json.dumps({"_id": f"p{number}", "text": text}) for number, text in enumerate(texts)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def index(here: Path, corpus: str, *arguments: str) -> str:
    """The sentence of the command; nothing of it stays in this process."""
    (here / "queries.jsonl").write_text('{"_id": "c<::>1", "text": "tea"}\n', encoding="utf-8")
    files = (
        "dataset=jsonl",
        "dataset.queries=queries.jsonl",
        f"dataset.corpus={corpus}",
        f"store.path={here}/store",
    )
    wiring = Wiring(compose(*files, *arguments))
    retriever = wiring.get("retriever")
    fresh = type(retriever)(
        **{
            name: getattr(retriever, name)
            for name in ("dataset", "embedder")
            if hasattr(retriever, name)
        },
        store=Store(here / "store"),
    )
    (sentence,) = fresh.index()
    end_command(fresh)
    return sentence


@pytest.mark.parametrize("retriever", ["bm25", "dense"])
def test_a_file_that_changes_leaves_one_index(retriever: str, here: Path) -> None:
    write_corpus(here / "corpus.jsonl", LIBRARY)
    assert "120 passages: 120" in index(here, "corpus.jsonl", f"retriever={retriever}")
    write_corpus(here / "corpus.jsonl", LIBRARY[1:])
    said = index(here, "corpus.jsonl", f"retriever={retriever}")
    # LSA learns from the corpus: with another one it is another embedder.
    assert said.endswith(
        "119 indexed (english)" if retriever == "bm25" else "119 embedded, 1 removed"
    )
    assert len(list((here / "store/indexes").iterdir())) == 1


def test_the_series_is_that_of_the_command_and_not_of_the_files(here: Path) -> None:
    write_corpus(here / "corpus.jsonl", LIBRARY)
    (here / "queries.jsonl").write_text('{"_id": "c<::>1", "text": "tea"}\n', encoding="utf-8")

    def wire(*arguments: str) -> dict[str, tuple[str, str]]:
        wiring = Wiring(
            compose(
                "dataset=jsonl",
                "dataset.queries=queries.jsonl",
                "dataset.corpus=corpus.jsonl",
                *arguments,
            )
        )
        wiring.get("retriever")
        return {place: (stage.fingerprint, stage.series) for place, stage in wiring.stages.items()}

    before = wire("retriever=dense")
    time.sleep(0.01)
    write_corpus(here / "corpus.jsonl", LIBRARY[1:])
    after = wire("retriever=dense")
    assert {place: series for place, (_, series) in before.items()} == {
        place: series for place, (_, series) in after.items()
    }
    assert all(
        before[place][0] != after[place][0] for place in ("dataset", "embedder", "retriever")
    )
    other = wire("retriever=dense", "embedder.dimensions=8")
    assert other["dataset"] == after["dataset"]
    assert other["embedder"][1] != after["embedder"][1]
    (here / "elsewhere").mkdir()
    write_corpus(here / "elsewhere/corpus.jsonl", LIBRARY[1:])
    os.chdir(here / "elsewhere")
    shutil.copy(here / "queries.jsonl", "queries.jsonl")
    assert wire("retriever=dense")["dataset"][1] != after["dataset"][1], (
        "a path counts as the file that it leads to"
    )
