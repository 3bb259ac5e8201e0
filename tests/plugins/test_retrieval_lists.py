"""Lists of leaders (approximate search) and quantised vectors: what they find, and how they are built again."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from convrag.api.stage import Embedder
from convrag.api.stages import Dataset
from convrag.api.types import Conversation, Passage, Query
from convrag.store.store import Store
from convrag_retrieval.dense import DenseRetriever
from convrag_retrieval.vectors import FILE, StoredRows

WIDTH = 24


class Numbers(Dataset):
    """Passages whose texts are numbers."""

    series = "numbers"

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = numbers

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        return (Passage(f"p{number}", str(number)) for number in self.numbers)


class Clouds(Embedder):
    """A unit vector for each number, near that of its last two digits."""

    fingerprint = series = "clouds"

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.embedded += 0 if query else len(texts)
        rows = [
            np.random.default_rng(int(text) % 100).normal(size=WIDTH)
            + 0.5 * np.random.default_rng([int(text), 1]).normal(size=WIDTH)
            for text in texts
        ]
        rows = np.array(rows).reshape(-1, WIDTH)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def make(folder: Path, numbers: Sequence[int], **parameters: Any) -> DenseRetriever:
    return DenseRetriever(dataset=Numbers(numbers), embedder=Clouds(), store=Store(folder), **parameters)


def build(folder: Path, numbers: Sequence[int], **parameters: Any) -> tuple[int, dict[str, bytes]]:
    """Do what one command does: return how many passages it embedded, and the bytes of the indexes it uses."""
    retriever = make(folder, numbers, **parameters)
    retriever.prepare()
    held = [path for path in retriever.store.folders._holds._files if path.parent.name == "indexes"]
    files = {path.name: path.read_bytes() for index in held for path in index.iterdir() if path.suffix != ".json"}
    retriever.store.folders._holds.release()
    return retriever.embedder.embedded, files  # type: ignore[attr-defined]


# Lists ------------------------------------------------------------------------------------------------------------


def test_threads_search_lists_at_once(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    retriever = make(tmp_path, range(1000), approximate="always")
    queries = [[Query(str(number))] for number in range(9000, 9020)]
    expected = [retriever.retrieve(query, 10) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: [retriever.retrieve(query, 10) for query in queries], range(16)):
            assert found == expected


def test_equal_texts_are_found_together(tmp_path: Path) -> None:
    """They have one hash, so that they cannot lead two lists."""
    pytest.importorskip("faiss")

    class Repeated(Numbers):
        def corpus(self, domain: str) -> Iterator[Passage]:
            return (Passage(f"p{number}", str(number // 3)) for number in self.numbers)

    retriever = make(tmp_path, range(300), approximate="always")
    retriever.dataset = Repeated(range(300))
    hits = retriever.retrieve([Query("77")], 3)
    assert [hit.passage.id for hit in hits] == ["p231", "p232", "p233"]


# Quantised vectors ------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(seed=st.integers(0, 1000), width=st.sampled_from([1, 3, 384]), zeros=st.booleans())
def test_rows_that_were_read_are_written_alike(
    tmp_path_factory: pytest.TempPathFactory, seed: int, width: int, zeros: bool
) -> None:
    rows = np.random.default_rng(seed).normal(size=(20, width)) ** 3
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    rows[3 if zeros else 20 :] = 0
    for quantize, most in (("none", 0), ("float16", 1e-3), ("int8", 5e-3)):
        texts = []
        for _ in range(2):
            folder = tmp_path_factory.mktemp("rows")
            stored = StoredRows.create(folder, rows.shape, quantize)  # type: ignore[arg-type]
            stored.write(np.arange(20), rows)
            stored.save(folder)
            opened = StoredRows.open(folder)
            assert np.abs(opened.read(slice(None)) - rows).max() <= most
            rows = opened.read(np.arange(20))
            texts.append([path.read_bytes() for path in sorted(folder.iterdir())])
        assert texts[0] == texts[1]


@pytest.mark.parametrize(("quantize", "share", "size"), [("float16", 0.99, 2), ("int8", 0.9, 1)])
def test_quantised_vectors_find_nearly_the_same(tmp_path: Path, quantize: str, share: float, size: int) -> None:
    exact = make(tmp_path, range(1000))
    rounded = make(tmp_path, range(1000), quantize=quantize)
    shared = 0
    for number in range(5000, 5040):
        hits, found = (retriever.retrieve([Query(str(number))], 10) for retriever in (exact, rounded))
        shared += len({hit.passage.id for hit in hits} & {hit.passage.id for hit in found})
        scores = rounded.scores([Query(str(number))], [hit.passage.id for hit in found])
        assert list(scores.values()) == [hit.score for hit in found]
    assert shared >= share * 400
    assert rounded.embedder.embedded == 0, "float32 rows of another index are rounded"  # type: ignore[attr-defined]
    stored = [path.stat().st_size for path in tmp_path.glob(f"indexes/*/{FILE}")]
    assert min(stored) == pytest.approx(1000 * WIDTH * size, abs=200)


@pytest.mark.parametrize("quantize", ["float16", "int8"])
def test_a_quantised_index_is_that_of_a_fresh_build(tmp_path: Path, quantize: str) -> None:
    build(tmp_path / "again", range(100))
    build(tmp_path / "again", range(50, 300), quantize=quantize)
    embedded, files = build(tmp_path / "again", range(20, 320), quantize=quantize)
    assert embedded == 20
    assert files == build(tmp_path / "fresh", range(20, 320), quantize=quantize)[1]
    assert build(tmp_path / "again", range(20, 320))[0] == 220, "what was rounded is no help where it must not be"
