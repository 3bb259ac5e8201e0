"""retriever=elasticsearch and opensearch on three real nodes: what is indexed, found, resumed and
replaced.
"""

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
import pytest

from commands import StartedCommand, run_convrag
from convrag import Passage, Query
from convrag.api.errors import ConvragError, NotReady
from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from convrag.store.store import Store
from convrag.testing import RetrieverContract
from convrag.testing.samples import passages
from convrag_datasets.file_dataset import FileDataset
from convrag_elasticsearch.retriever import (
    ClusterRetriever,
    ElasticsearchRetriever,
    OpenSearchRetriever,
)
from convrag_tasks.run import IndexTask
from elasticsearch_toys import Hashed, Streamed
from search_engines import VARIABLE, SearchEngine
from toys import Corpora

pytestmark = [pytest.mark.cluster, pytest.mark.integration]

CLASSES = {"elasticsearch": ElasticsearchRetriever, "opensearch": OpenSearchRetriever}
TEA = [
    Passage(
        "p 1/ü",
        "Tea is brewed. 茶",
        title="Tea",
        url="https://x/1",
        metadata={"year": 1999, "tags": ["a"]},
    ),
    Passage("p2", "Tea, again tea: the text begins with its title.", title="Tea"),
    Passage("p3", "copper kettles and green tea without a title"),
    Passage("x" * 600, "tea with an id that is longer than the cluster allows"),
    Passage("empty", ""),
]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def make(engine: SearchEngine, store: Store, *texts: Passage, **options: Any) -> ClusterRetriever:
    """A retriever over these passages; it is not indexed yet."""
    dataset = options.pop("dataset", None) or Corpora(default=texts or TEA)
    return CLASSES[engine.option](dataset=dataset, embedder=Hashed(), store=store, **options)


def indexed(
    engine: SearchEngine, store: Store, *texts: Passage, **options: Any
) -> ClusterRetriever:
    stage = make(engine, store, *texts, **options)
    stage.index()
    stage.prepare()
    return stage


def scores(stage: ClusterRetriever, *queries: Query, k: int = 10) -> dict[str, float]:
    return {hit.passage.id: hit.score for hit in stage.retrieve(queries, k)}


def words(text: str) -> list[str]:
    return "".join(each if each.isalnum() else " " for each in text.lower()).split()


def bm25(texts: Sequence[Passage], query: str, k1: float, b: float) -> dict[str, float]:
    """The formula, with the factor k1 + 1 that both engines keep; lengths up to 40 are kept as they
    are.
    """
    counts = {each.id: Counter(words(each.content)) for each in texts if each.content}
    average = sum(map(Counter.total, counts.values())) / len(counts)
    found: dict[str, float] = {}
    for word in words(query):
        having = [id_ for id_, count in counts.items() if count[word]]
        idf = math.log(1 + (len(counts) - len(having) + 0.5) / (len(having) + 0.5))
        for id_ in having:
            count = counts[id_][word]
            share = count / (count + k1 * (1 - b + b * counts[id_].total() / average))
            found[id_] = found.get(id_, 0.0) + (k1 + 1) * idf * share
    return found


def test_words_have_the_scores_of_bm25_and_passages_come_back(
    any_engine: SearchEngine, store: Store
) -> None:
    stage = indexed(any_engine, store, analyzer="standard", k1=0.9, b=0.4)
    hits = stage.retrieve([Query("tea")], 10)
    assert sorted((hit.passage for hit in hits), key=str) == sorted(TEA[:4], key=str)
    assert scores(stage, Query("tea text")) == pytest.approx(
        bm25(TEA, "tea text", 0.9, 0.4), rel=1e-5
    )
    both = scores(stage, Query("copper", weight=2.0), Query("text", weight=0.5))
    alone = [bm25(TEA, query, 0.9, 0.4) for query in ("copper", "text")]
    assert both == pytest.approx(
        {id_: 2 * alone[0].get(id_, 0) + alone[1].get(id_, 0) / 2 for id_ in both}, rel=1e-5
    )
    assert scores(stage, Query(" ")) == scores(stage, Query("tea", weight=0.0)) == {}


@pytest.mark.parametrize(("vectors", "error"), [("flat", 1e-5), ("hnsw", 1e-5), ("int8_hnsw", 0.3)])
def test_vectors_have_cosines(
    vectors: Any, error: float, any_engine: SearchEngine, store: Store
) -> None:
    stage = indexed(any_engine, store, mode="dense", vectors=vectors)
    rows = Hashed().embed(["green tea", "copper kettle"])
    vector = 3 * rows[0] + rows[1]
    vector /= np.linalg.norm(vector)
    wanted = {each.id: float(Hashed().embed([each.content])[0] @ vector) for each in TEA[:4]}
    found = scores(stage, Query("green tea", weight=3.0), Query("copper kettle"))
    assert found == pytest.approx(wanted, abs=error)
    assert next(iter(found)) == max(wanted, key=lambda id_: wanted[id_])


def test_given_tokens_have_the_dot_product(
    any_engine: SearchEngine, store: Store, tmp_path: Path
) -> None:
    """Weights are kept with 9 significant bits. A dot in a token is no path, and a hybrid has both
    rankings.
    """
    rows = {
        each.id: {word: 1.0 + len(word) / 7 for word in words(each.content)} | {"3.5": 0.25}
        for each in TEA
    }
    query = {"tea": 0.5, "copper": 1.25, "3.5": 2.0}
    files = {"passage_vectors": tmp_path / "p.jsonl", "query_vectors": tmp_path / "q.jsonl"}
    files["passage_vectors"].write_text(
        "".join(f"{json.dumps({'id': id_, 'vector': row})}\n" for id_, row in rows.items())
    )
    files["query_vectors"].write_text(json.dumps({"text": "why?", "vector": query}))
    wanted = {
        id_: sum(query[token] * row.get(token, 0) for token in query) for id_, row in rows.items()
    }
    stage = indexed(any_engine, store, mode="sparse", **files)
    assert scores(stage, Query("why?")) == pytest.approx(wanted, rel=1 / 256)
    hybrid = indexed(any_engine, store, mode="hybrid", second="sparse", **files)
    ranked = [
        sorted(each, key=lambda id_: (-each[id_], id_))
        for each in (bm25(TEA, "why", 1.2, 0.75), wanted)
    ]
    assert scores(hybrid, Query("why?")) == pytest.approx(
        {
            id_: sum(1 / (61 + ranking.index(id_)) for ranking in ranked if id_ in ranking)
            for id_ in wanted
        }
    )


def test_settings_and_corpora_have_indexes_side_by_side(
    any_engine: SearchEngine, store: Store
) -> None:
    options: list[dict[str, Any]] = [{}, {"k1": 0.9}, {"shards": 2, "replicas": "0-2"}]
    stages = [indexed(any_engine, store, *passages(), **each) for each in options]
    two = Corpora(One=passages()[:2], two=passages()[2:])
    stages.append(make(any_engine, store, dataset=two))
    assert len(stages[-1].index()) == 2
    found = any_engine.list_indexes("convrag")
    assert len(found) == 5
    (newest,) = (
        name for name, about in found.items() if "convrag-default-bm25" in about["aliases"]
    )
    settings = found[newest]["settings"]["index"]
    assert (settings["number_of_shards"], settings["number_of_replicas"]) == ("2", "2")
    assert all(next(iter(scores(stage, Query("copper kettle")))) == "tea-3" for stage in stages[:3])
    assert list(scores(stages[-1], Query("kettle", domain="two"))) == ["tea-3"]
    assert list(scores(stages[-1], Query("kettle", domain="One"))) == ["tea-1"]


def test_what_the_cluster_refuses_is_one_message(any_engine: SearchEngine, store: Store) -> None:
    with pytest.raises(ConvragError, match=r"analyzer \[klingon\] has not been configured"):
        indexed(any_engine, store, analyzer="klingon")
    stage = indexed(any_engine, store, window=0.3)
    with ThreadPoolExecutor(2) as pool:
        good, bad = (pool.submit(stage.retrieve, [Query("tea")], size) for size in (3, 20_000))
    assert len(good.result()) == 3
    assert "Fewer passages: top_k" in str(bad.exception())
    other = next(option for option in CLASSES if option != any_engine.option)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE[other], any_engine.url)
        (problem,) = CLASSES[other](
            dataset=Corpora(default=TEA), embedder=Hashed(), store=store
        ).check()
    assert f"choose retriever={any_engine.option}, and set {VARIABLE[any_engine.option]}" in problem


def test_a_damaged_index_is_replaced_in_one_step(any_engine: SearchEngine, store: Store) -> None:
    stage = indexed(any_engine, store, dataset=Streamed(30))
    (name,) = any_engine.list_indexes("convrag")
    any_engine.request("DELETE", f"/{name}/_doc/p7?refresh=true")
    with pytest.raises(
        NotReady, match="holds only 29 of 30 passages: run the same command with task=index"
    ):
        make(any_engine, store, dataset=Streamed(30)).prepare()
    stage.index()
    stage.prepare()
    ((replaced, about),) = any_engine.list_indexes("convrag").items()
    assert replaced == f"{name[:-1]}2"
    assert len(about["aliases"]) == 2
    assert any_engine.request("GET", f"/{replaced}/_count")["count"] == 30


def test_two_commands_at_a_time_build_one_index(any_engine: SearchEngine, tmp_path: Path) -> None:
    """They have stores of their own, as on two machines: their locks do not see each other."""
    stages = [
        make(any_engine, Store(tmp_path / name), dataset=Streamed(300), chunk=10)
        for name in ("one", "two")
    ]
    with ThreadPoolExecutor(2) as pool:
        assert len(list(pool.map(lambda stage: stage.index(), stages))) == 2
    ((name, about),) = any_engine.list_indexes("convrag").items()
    assert any_engine.request("GET", f"/{name}/_count")["count"] == 300
    assert about["mappings"]["_meta"]["convrag"]["passages"] == 300


def test_what_the_cluster_has_no_room_for_is_sent_again(
    any_engine: SearchEngine, store: Store
) -> None:
    """Bulk requests over a limit are rejected with 429, whole ones and single items."""
    limit = "network.breaker.inflight_requests.limit"

    def set_limit(value: str | None) -> None:
        any_engine.request("PUT", "/_cluster/settings", {"persistent": {limit: value}})

    stage = make(any_engine, store, dataset=Streamed(3000), chunk=1000)
    set_limit("20kb")
    timer = threading.Timer(2, set_limit, [None])
    timer.start()
    try:
        (said,) = stage.index()
    finally:
        timer.join()
        set_limit(None)
    assert said.startswith("default: 3,000 passages are in")


class TestContract(RetrieverContract):
    """A hybrid, which has both kinds of searches."""

    network = True

    @pytest.fixture(autouse=True)
    def _use(self, started_engine: SearchEngine, store: Store) -> None:
        self.engine, self.store = started_engine, store

    def make(self) -> Any:
        return indexed(
            self.engine,
            self.store,
            *passages(),
            mode="hybrid",
            vectors="flat",
            prefix="contract",
            retry_seconds=1.0,
        )


def test_conversations_side_by_side_share_requests(any_engine: SearchEngine, store: Store) -> None:
    stage = indexed(any_engine, store, *passages(), window=0.5)
    asked = [[Query(f"{each.text} {n}")] for n, each in enumerate(passages() * 16)]
    before = count_requests(any_engine)
    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(lambda queries: stage.retrieve(queries, 3), asked))
    assert found == [stage.retrieve(queries, 3) for queries in asked[:4]] + found[4:]
    assert count_requests(any_engine) - before < 64


def count_requests(engine: SearchEngine) -> int:
    nodes = engine.request("GET", "/_nodes/stats/http")["nodes"].values()
    return sum(node["http"]["total_opened"] for node in nodes)


# The command
# ------------------------------------------------------------------------------------------------------


@pytest.fixture
def corpus(tmp_path: Path, any_engine: SearchEngine) -> list[str]:
    """3,000 passages, and the command that indexes them."""
    rows = ({"_id": f"p{n}", "text": f"passage {n} about tea"} for n in range(3000))
    (tmp_path / "corpus.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8"
    )
    asked = (json.dumps({"_id": f"c{n}<::>1", "text": f"passage {n}"}) for n in range(20))
    (tmp_path / "queries.jsonl").write_text("\n".join(asked), encoding="utf-8")
    files = [f"dataset.corpus={tmp_path}/corpus.jsonl", f"dataset.queries={tmp_path}/queries.jsonl"]
    return [
        "dataset=jsonl",
        *files,
        f"retriever={any_engine.option}",
        "retriever.chunk=20",
        "tracker=none",
    ]


def test_a_killed_command_goes_on(
    corpus: list[str], any_engine: SearchEngine, tmp_path: Path
) -> None:
    first = StartedCommand(["task=index", *corpus], tmp_path, stdout=PIPE, stderr=PIPE, text=True)
    held = 0
    while held < 200:
        assert first.poll() is None, first.communicate()
        any_engine.request("POST", "/convrag*/_refresh")
        held = any_engine.request("GET", "/convrag*/_count").get("count", 0)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate(timeout=20)
    again = run_convrag(["task=index", *corpus], tmp_path)
    assert again.returncode == 0, again.stderr
    assert "3,000 passages are in" in again.stdout
    assert "of them from an earlier attempt" in again.stdout


def test_a_run_has_the_figures_and_does_not_read_the_corpus(
    any_engine: SearchEngine, mtrag_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = [
        "dataset=mtrag",
        f"dataset.path={mtrag_path}",
        "dataset.domain=clapnq",
        "history=gold",
        "rewriter=none",
    ]
    config = compose(*data, "generator=none", "tracker=none", f"retriever={any_engine.option}")
    IndexTask().execute(config, here)
    read: list[Passage] = []
    real = FileDataset.read_corpus

    def read_corpus(dataset: Any, path: Path, domain: str) -> Iterator[Passage]:
        for passage in real(dataset, path, domain):
            read.append(passage)
            yield passage

    monkeypatch.setattr(FileDataset, "read_corpus", read_corpus)
    _, summary = run_experiment(config, here / "run")
    assert summary.overall["nDCG@5"] == pytest.approx(0.210, abs=0.003)
    assert (here / "run/report.html").exists()
    assert len(read) <= 1, "the data set looks at the first passage, and nobody reads the others"
    assert not list((here / "outputs/store").glob("corpora")), "nor is it copied"


def test_client_8_is_answered_by_a_cluster_of_version_9(
    corpus: list[str], any_engine: SearchEngine, tmp_path: Path
) -> None:
    """The package index has it; where there is none, the test says so."""
    if any_engine.engine != "elasticsearch":
        pytest.skip("a client of Elasticsearch")
    wanted = ["install", "--quiet", "--target", str(tmp_path / "client"), "elasticsearch>=8.17,<9"]
    if subprocess.run([sys.executable, "-m", "pip", *wanted], capture_output=True).returncode:
        pytest.skip("no package index has elasticsearch 8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "client"), *sys.path[1:]]),
    }
    said = "import elasticsearch; assert elasticsearch.__version__[0] == 8; from convrag.__main__ import main; main()"
    for more in (["task=index"], ["generator=none", "rewriter=none"]):
        command = [sys.executable, "-c", said, *corpus, *more]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert "20 turns" in done.stdout
