"""Indexing and searching on a real cluster, beside the engine's bare client.

    python benchmarks/speed/search_engine_load.py [--engine opensearch] [--passages 1000000]
    [--windows 0,0.005,0.02]

The cluster is the one that ES_URL or OPENSEARCH_URL names, or three nodes of ../shared/engines.
Passages are made by a seed. The bare client indexes by `parallel_bulk` (4 threads, 500 passages a
request), and searches one query at a time from 8 and 64 threads, and 64 queries a request (msearch)
from one thread and from eight. Rounds alternate, and the median of each counts: the best of a few
rounds is whatever ran while the machine had less to do.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from convrag import Query, Store
from convrag_elasticsearch.documents import build_document
from convrag_elasticsearch.multi_search import complete_body
from convrag_elasticsearch.retriever import (
    ClusterRetriever,
    ElasticsearchRetriever,
    OpenSearchRetriever,
)
from search_engines import VARIABLE, running_engine
from zipf_passages import ZipfPassages

ROUNDS = 5
K = 10


def main() -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", choices=sorted(VARIABLE), default="elasticsearch")
    parser.add_argument("--passages", type=int, default=200_000)
    parser.add_argument("--searches", type=int, default=1280)
    parser.add_argument("--windows", default="0,0.005,0.02")
    parser.add_argument("--batches", default="16,64")
    parser.add_argument("--skip-bare-indexing", action="store_true")
    given = parser.parse_args()
    with ExitStack() as stack:
        if VARIABLE[given.engine] not in os.environ:
            os.environ[VARIABLE[given.engine]] = stack.enter_context(
                running_engine(given.engine)
            ).url
        dataset = ZipfPassages(given.passages)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = Bench(given.engine, dataset, folder)
        bench.measure_indexing(bare=not given.skip_bare_indexing)
        windows, batches = (
            list(map(float, part.split(","))) for part in (given.windows, given.batches)
        )
        bench.measure_searches(
            [query for (query,) in dataset.queries(given.searches)], windows, batches
        )


def run_process(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a command in a folder: its seconds, and the most memory that it had, in MB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"status {status}: {' '.join(command)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


class Bench:
    """One engine, and one corpus."""

    def __init__(self, engine: str, dataset: ZipfPassages, folder: Path) -> None:
        self.engine = engine
        self.dataset = dataset
        self.folder = folder
        self.client = connect(engine)
        self.stage = self.make()

    def make(self, **options: Any) -> ClusterRetriever:
        """Make the retriever under test; it searches by words, so that it has no embedder."""
        cls = {"elasticsearch": ElasticsearchRetriever, "opensearch": OpenSearchRetriever}[
            self.engine
        ]
        nothing: Any = None
        return cls(
            dataset=self.dataset, embedder=nothing, store=Store(self.folder / "store"), **options
        )

    def measure_indexing(self, *, bare: bool) -> None:
        """Index by `parallel_bulk`, then by `task=index` in a process of its own."""
        if bare:
            plan = self.stage._plan_index("default")
            self.stage.cluster.request(
                "PUT", "/bare", {"mappings": plan.mapping, "settings": plan.settings}
            )
            show(
                "bare client's parallel_bulk, passages a second",
                self.dataset.size / timed(self._index_bare),
            )
            self.stage.cluster.request("DELETE", "/bare")
        corpus = self.folder / "corpus.jsonl"
        with corpus.open("w", encoding="utf-8") as file:
            for passage in self.dataset.corpus("default"):
                file.write(f"{json.dumps({'_id': passage.id, 'text': passage.text})}\n")
        query = {"_id": "c<::>1", "text": next(iter(self.dataset.queries(1)))[0].text}
        (self.folder / "queries.jsonl").write_text(f"{json.dumps(query)}\n", encoding="utf-8")
        files = [f"dataset.corpus={corpus}", f"dataset.queries={self.folder / 'queries.jsonl'}"]
        command = [
            sys.executable,
            "-m",
            "convrag",
            "dataset=jsonl",
            *files,
            f"retriever={self.engine}",
            "tracker=none",
        ]
        seconds, memory = run_process([*command, "task=index"], self.folder)
        show("task=index, passages a second", self.dataset.size / seconds)
        show("task=index, memory in MB", memory)
        run = [*command, "rewriter=none", "generator=none"]
        again = ["retriever=run", f"retriever.path={self.folder / 'first' / 'run.trec'}"]
        # The second knows the hash of the corpus. The third searches nothing: what a start costs by
        # itself.
        for name, others in {"first": [], "second": [], "retriever=run, a": again}.items():
            folder = name.partition("=")[0]
            seconds, memory = run_process([*run, *others, f"hydra.run.dir={folder}"], self.folder)
            show(f"{name} run of one turn, seconds", seconds)
            show(f"{name} run of one turn, memory in MB", memory)

    def _index_bare(self) -> None:
        if self.engine == "elasticsearch":
            from elasticsearch.helpers import parallel_bulk
        else:
            from opensearchpy.helpers import parallel_bulk

        actions = (
            {
                "_op_type": "create",
                "_index": "bare",
                "_id": passage.id,
                "_source": build_document(passage),
            }
            for passage in self.dataset.corpus("default")
        )
        for _ in parallel_bulk(
            self.client, actions, thread_count=4, chunk_size=500, max_chunk_bytes=5_000_000
        ):
            pass

    def measure_searches(
        self, queries: list[Query], windows: list[float], batches: list[float]
    ) -> None:
        """Search by the bare client and by the retriever, in turns."""
        self.stage.index()
        alias = self.stage._get_alias("default")
        bodies = [
            complete_body(self.stage.subqueries[0].build_searches([query], K)[0].body, K)
            for query in queries
        ]
        header = {"index": alias, "allow_partial_search_results": False}
        parts = [
            [line for body in bodies[n : n + 64] for line in (header, body)]
            for n in range(0, len(bodies), 64)
        ]
        single = {"index": alias, "allow_partial_search_results": False}

        def search(body: dict[str, Any]) -> Any:
            given = body if self.engine == "elasticsearch" else {"body": body}
            return self.client.search(**single, **given)

        def msearch(lines: list[Any]) -> Any:
            return self.client.msearch(
                **{"searches" if self.engine == "elasticsearch" else "body": lines}
            )

        ways: dict[str, Callable[[], object]] = {
            "bare, search, 8 threads": lambda: in_threads(8, search, bodies),
            "bare, search, 64 threads": lambda: in_threads(64, search, bodies),
            "bare, msearch of 64, 1 thread": lambda: in_threads(1, msearch, parts),
            "bare, msearch of 64, 8 threads": lambda: in_threads(8, msearch, parts),
        }
        for window in windows:
            for batch in batches:
                stage = self.make(window=window, batch=int(batch))
                for threads in (8, 64):
                    name = f"convrag, window={window:g} batch={batch:g}, {threads} threads"
                    ways[name] = lambda stage=stage, threads=threads: in_threads(  # type: ignore[misc]
                        threads, lambda query: stage.retrieve([query], K), queries
                    )
        ways["bare, search, 8 threads"]()  # the caches are warm from here on
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                rates[name].append(len(queries) / timed(way))
        for name, found in rates.items():
            show(
                f"{name}, searches a second ({min(found):,.0f} to {max(found):,.0f})", median(found)
            )


def connect(engine: str) -> Any:
    """Connect the bare client as its users would, with enough connections for 64 threads."""
    urls = os.environ[VARIABLE[engine]].split(",")
    if engine == "elasticsearch":
        from elasticsearch import Elasticsearch

        return Elasticsearch(urls, request_timeout=120, connections_per_node=64)
    from opensearchpy import OpenSearch

    return OpenSearch(urls, timeout=120, pool_maxsize=64)


def in_threads(count: int, call: Callable[[Any], object], items: Iterable[Any]) -> None:
    """Call a function with each item, from so many threads."""
    with ThreadPoolExecutor(count) as pool:
        for _ in pool.map(call, items):
            pass


def timed(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def show(name: str, value: float) -> None:
    """Print a figure."""
    print(f"{name}: {value:,.1f}", flush=True)


if __name__ == "__main__":
    main()
