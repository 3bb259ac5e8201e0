"""Indexing of 10,000 files: anew, without a change, and after small changes.

    pytest benchmarks/speed/test_indexing.py -n 0 -s

CONVRAG_BENCHMARK_FILES=1000 takes a tenth of the time. Each step is a command of its own; its
memory is the largest resident size of its process. The embedder of the dense index counts words: it
stands for no model, so that the time is that of all the rest.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

FILES = int(os.environ.get("CONVRAG_BENCHMARK_FILES", "10000"))
SIZE = 20_000

EMBEDDER = """
from convrag import Embedder, hookimpl

class WordsEmbedder(Embedder):
    "Counts words, by their lengths and first letters."
    def embed(self, texts, *, query=False):
        import numpy as np
        rows = np.zeros((len(texts), 384), dtype=np.float32)
        for row, text in zip(rows, texts):
            words = np.frombuffer(text.encode()[:768].ljust(768), dtype=np.uint16) % 384
            np.add.at(row, words, 1)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

@hookimpl
def convrag_register(register):
    register("embedder", "words", WordsEmbedder)
"""


class Library:
    """A folder of files with words of Zipf's distribution."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._random = np.random.default_rng(7)
        letters = np.array(list("etaoinshrdlucmfwypvb"))
        self._words = np.array(
            [
                "".join(self._random.choice(letters, size=n))
                for n in self._random.integers(2, 11, 50_000)
            ]
        )
        shares = 1 / np.arange(1, len(self._words) + 1)
        self._shares = np.cumsum(shares / shares.sum())

    def write(self, number: int) -> None:
        """Write a file anew."""
        path = self.folder / f"{number % 100:02}" / f"{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        chosen = self._words[np.searchsorted(self._shares, self._random.random(SIZE // 4))]
        lines = [" ".join(chosen[start : start + 12]) + "." for start in range(0, len(chosen), 12)]
        parts = [
            f"## Part {part}\n\n" + "\n".join(lines[start : start + 30])
            for part, start in enumerate(range(0, len(lines), 30))
        ]
        path.write_text(f"# Document {number}\n\n" + "\n\n".join(parts)[:SIZE], encoding="utf-8")

    def delete(self, number: int) -> None:
        (self.folder / f"{number % 100:02}" / f"{number:05}.md").unlink()


def measure(folder: Path, what: str, arguments: list[str]) -> float:
    """Run task=index, print what it took, and return its seconds."""
    command = [
        sys.executable,
        "-m",
        "convrag",
        "task=index",
        "dataset=documents",
        "dataset.path=documents",
        *arguments,
    ]
    start = time.perf_counter()
    with (folder / "said.txt").open("w") as file:
        process = subprocess.Popen(command, cwd=folder, stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    seconds = time.perf_counter() - start
    said = (folder / "said.txt").read_text(encoding="utf-8")
    assert status == 0, said
    print(
        f"{what}: {seconds:.1f} s, {usage.ru_utime + usage.ru_stime:.1f} s of processor time, "
        f"{usage.ru_maxrss / 1024:.0f} MiB; {said.splitlines()[0]}",
        flush=True,
    )
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("retriever", ["bm25", "dense"])
def test_indexing_again(retriever: str, tmp_path: Path) -> None:
    library = Library(tmp_path / "documents")
    for number in range(FILES):
        library.write(number)
    (tmp_path / "words.py").write_text(EMBEDDER, encoding="utf-8")
    arguments = [f"retriever={retriever}", "plugins=[words.py]", "embedder=words"]
    first = measure(
        tmp_path, f"{retriever}, {FILES:,} files of {SIZE // 1000} kB, first time", arguments
    )
    unchanged = measure(tmp_path, "again, without a change", arguments)
    for number in range(10):
        library.write(number * FILES // 10)
    library.delete(1)
    changed = measure(tmp_path, "after ten files changed and one was deleted", arguments)
    print(f"{unchanged / first:.2f} and {changed / first:.2f} of the first time's processor time")
    assert unchanged < 0.5 * first
    assert changed < 0.5 * first
    assert len(list((tmp_path / "outputs/store/indexes").iterdir())) == 1
