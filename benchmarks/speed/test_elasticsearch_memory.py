"""task=index with 200,000 passages in constant memory, against a loopback server in its own process. Run with -s.

What is measured is our side: reading, making documents, sending, taking note of the answers. The server keeps documents
and does not index them; how long a real cluster takes is not measured here.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("elasticsearch")
pytest.importorskip("jsonschema")
pytestmark = pytest.mark.integration

PASSAGES = 200_000
WORDS = 100
LIMIT_MB = 300
SERVER = Path(__file__).parents[2] / "tests/elasticsearch_server.py"
INDEX = """
import os, sys
from convrag.__main__ import main
import convrag_elasticsearch.client, rich.console  # what has to be loaded once, whatever the corpus
print("start", flush=True)
sys.stdin.readline()
main()
"""


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.communicate()


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def write_corpus(path: Path) -> None:
    words = [f"word{n}" for n in range(5000)]
    with path.open("w", encoding="utf-8") as file:
        for number in range(PASSAGES):
            text = " ".join(words[(number * 31 + place * 17) % 5000] for place in range(WORDS))
            file.write(f"{json.dumps({'_id': f'passage-{number}', 'title': f'Title {number}', 'text': text})}\n")


def test_a_corpus_streams_through(server: subprocess.Popen[str], tmp_path: Path) -> None:
    """First all of it; then again as after a kill just before the end, when the cluster has everything already."""
    assert server.stdout is not None
    assert server.stdin is not None
    address = server.stdout.readline().strip()
    write_corpus(tmp_path / "corpus.jsonl")
    (tmp_path / "queries.jsonl").write_text('{"_id": "c<::>1", "text": "word7"}\n', encoding="utf-8")
    files = ["dataset=jsonl", "dataset.corpus=corpus.jsonl", "dataset.queries=queries.jsonl"]
    command = [sys.executable, "-c", INDEX, "task=index", "retriever=elasticsearch", "tracker=none", *files]
    for attempt in ("sent", "there already"):
        start, peak, seconds = indexed(command, address, tmp_path)
        more = peak - start
        print(f"{PASSAGES:,} passages {attempt}: {seconds:.1f} s, {more:.0f} MB above {start:.0f}")  # noqa: T201
        server.stdin.write(f"count {unpublished(address)}\n")
        server.stdin.flush()
        assert int(server.stdout.readline()) == PASSAGES
        assert more < LIMIT_MB


def indexed(command: list[str], address: str, folder: Path) -> tuple[float, float, float]:
    """MB at the start, MB at the most, seconds."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "ES_URL": address},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline().strip() == "start"
    start = peak = resident_mb(process.pid)
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.05):
            peak = max(peak, resident_mb(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.perf_counter()
    _, said = process.communicate("go\n", timeout=900)
    seconds = time.perf_counter() - begun
    ended.set()
    watcher.join()
    assert process.returncode == 0, said
    return start, peak, seconds


def unpublished(address: str) -> str:
    """The name of the only index, from which the aliases are taken that say that it is complete."""
    from elasticsearch import Elasticsearch

    with Elasticsearch(address) as client:
        ((name, state),) = client.indices.get(index="convrag-*").items()
        actions = [{"remove": {"index": name, "alias": alias}} for alias in state["aliases"]]
        client.indices.update_aliases(actions=actions)
        return str(name)
