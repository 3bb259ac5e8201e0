"""The first and second start over 10,000 documents: processor seconds and memory."""

import json
import random
import subprocess
import sys
from pathlib import Path

FILES, CHARACTERS = 10_000, 20_000

START = """
import json, resource, sys, time
from pathlib import Path
from convrag.store.store import Store
from convrag_chunkers.sentences import NoChunker
from convrag_documents.dataset import DocumentsDataset

begun = time.process_time()
dataset = DocumentsDataset(path=Path(sys.argv[1]), chunker=NoChunker(), store=Store(sys.argv[2]))
dataset.check()
read = time.process_time()
passages = sum(1 for _ in dataset.corpus("default"))
made = time.process_time()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([read - begun, made - read, memory, passages]))
"""


def write_folder(folder: Path) -> None:
    chance = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(5000)]
    for number in range(FILES):
        path = folder / f"part{number // 100}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        blocks = [f"# Title {number}"]
        length = 0
        while length < CHARACTERS:
            heading = chance.random() < 0.2
            text = " ".join(chance.choices(words, k=3 if heading else 60))
            blocks.append(f"## {text}" if heading else f"{text.capitalize()}.")
            length += len(text)
        path.write_text("\n\n".join(blocks))


def start(folder: Path, store: Path) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", START, str(folder), str(store)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_the_second_start_only_looks_at_the_files(tmp_path: Path) -> None:
    write_folder(tmp_path / "docs")
    first, second = (start(tmp_path / "docs", tmp_path / "store") for _ in range(2))
    for name, (read, made, memory, passages) in (("first", first), ("second", second)):
        print(
            f"{name} start: {read:.1f} s to read, {made:.1f} s to make {passages:.0f} documents, {memory:.0f} MB"
        )
    assert first[0] > 8 * second[0]
    assert max(first[2], second[2]) < 150
