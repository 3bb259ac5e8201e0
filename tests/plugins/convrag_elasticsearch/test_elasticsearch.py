"""retriever=elser, tokens from files, and options, against the loopback server; see cluster/ for
the rest.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("elasticsearch")
pytest.importorskip("jsonschema")

from commands import run_convrag
from convrag import Pipeline
from convrag.api.errors import ConfigError, NotReady
from convrag.api.passages import Passage
from convrag.api.queries import Query
from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from convrag.store.store import Store
from convrag.testing import RetrieverContract
from convrag.testing.samples import passages
from convrag_elasticsearch.retriever import ElasticsearchRetriever, ElserRetriever
from convrag_tasks.run import IndexTask
from elasticsearch_server import Server, find_beginnings, running_server
from elasticsearch_toys import Hashed
from toys import Corpora

pytestmark = pytest.mark.integration


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with running_server() as server:
        for name in ("ES_CLOUD_ID", "ES_API_KEY", "ES_USER", "ES_PASSWORD", "ES_CA_CERTS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("ES_URL", server.address)
        monkeypatch.setattr("convrag_elasticsearch.retries.INITIAL_BACKOFF", 0.01)
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def made(store: Store, *texts: Passage, **options: Any) -> ElasticsearchRetriever:
    """A retriever over these passages (or the samples), indexed."""
    stage = ElasticsearchRetriever(
        dataset=Corpora(default=texts or passages()), embedder=Hashed(), store=store, **options
    )
    stage.index()
    return stage


def elser(store: Store, **options: Any) -> ElserRetriever:
    defaults = {"mode": "sparse", "inference_id": "convrag-elser", "create_endpoint": True}
    stage = ElserRetriever(
        dataset=Corpora(default=passages()),
        embedder=Hashed(),
        store=store,
        **{**defaults, **options},
    )
    stage.index()
    return stage


def ids(hits: Sequence[Any]) -> list[str]:
    return [hit.passage.id for hit in hits]


class TestElser(RetrieverContract):
    network = True

    @pytest.fixture(autouse=True)
    def _use(self, server: Server, store: Store) -> None:
        self.store = store

    def make(self) -> Any:
        return elser(self.store, retries=0)  # one of the contract's servers is none


def test_each_side_of_a_hybrid_searches_for_its_own_queries(server: Server, store: Store) -> None:
    stage = made(store, mode="hybrid")
    stage.retrieve(
        [Query("copper kettle", search="lexical"), Query("green tea", search="dense")], 4
    )
    lexical, dense = server.searches()[-1][1::2]
    assert "copper kettle" in str(lexical)
    assert "green tea" not in str(lexical)
    assert dense["knn"]["query_vector"] == pytest.approx(
        Hashed().embed(["green tea"])[0].tolist(), abs=1e-6
    )


def test_a_search_by_tokens_takes_the_queries_for_vectors(server: Server, store: Store) -> None:
    stage = elser(store)
    stage.retrieve(
        [Query("copper kettle", search="lexical"), Query("green tea", search="dense")], 4
    )
    searched = str(server.searches()[-1])
    assert "green tea" in searched
    assert "copper kettle" not in searched


def test_sparse_fuses_ranks_by_weight(server: Server, store: Store) -> None:
    stage = elser(store, rrf_k=60)
    first, second = (
        ids(stage.retrieve([Query(text)], 10)) for text in ("copper kettle", "green tea")
    )
    hits = stage.retrieve([Query("copper kettle", weight=2.0), Query("green tea")], 10)
    wanted: dict[str, float] = {}
    for weight, ranking in ((2.0, first), (1.0, second)):
        for rank, id_ in enumerate(ranking, 1):
            wanted[id_] = wanted.get(id_, 0.0) + weight / (60 + rank)
    assert {hit.passage.id: hit.score for hit in hits} == pytest.approx(wanted)
    assert len(server.searches()[-1]) == 4  # two searches, one request


def test_corpus_vectors_are_not_put_into_the_store(server: Server, here: Path) -> None:
    overrides = (
        "retriever=elasticsearch",
        "retriever.mode=dense",
        "generator=none",
        "rewriter=none",
    )
    IndexTask().execute(compose(*overrides), here)
    pipeline = Pipeline.compose(*overrides)
    assert not pipeline.turn("c", "how far away is the moon?").error
    rows = pipeline.stages.retriever.store.entries._execute(
        "SELECT kind, count(*) FROM entries GROUP BY kind"
    )
    assert all(count < 5 for kind, count in rows if "embed" in kind)


# ELSER
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["sparse_vector", "semantic_text"])
def test_elser_asks_the_endpoint(query: str, server: Server, store: Store) -> None:
    stage = elser(store, query=query)
    stage.prepare()
    assert (
        ids(stage.retrieve([Query("coppers")], 2))[0] == "tea-3"
    )  # by a token that is no word of it
    (asked,) = server.searches()[-1][1]["query"].items()
    assert asked[0] == ("semantic" if query == "semantic_text" else "sparse_vector")
    if query == "sparse_vector":
        assert asked[1] == {
            "field": "tokens",
            "inference_id": "convrag-elser",
            "query": "coppers",
            "prune": False,
        }


def test_an_endpoint_that_is_there_is_not_created(server: Server, store: Store) -> None:
    config = {"service": "elasticsearch", "service_settings": {"model_id": ".elser_model_2"}}
    server.deploy("mine", config)
    elser(store, inference_id="mine", create_endpoint=False)
    assert not [path for path in server.paths("/_inference") if path.startswith("PUT")]


@pytest.mark.parametrize("create", [True, False])
def test_all_that_the_cluster_lacks_is_one_message(
    create: bool, server: Server, store: Store
) -> None:
    server.licence, server.ml_node = "basic", False
    with pytest.raises(NotReady) as caught:
        elser(store, create_endpoint=create, endpoint_wait=0.1)
    (message,) = caught.value.problems
    assert "its licence is basic, and ELSER needs trial, platinum, enterprise" in message
    assert "no inference endpoint 'convrag-elser'" in message
    assert not server.indexes, "nothing is begun"


def test_a_cluster_without_a_node_for_machine_learning(server: Server, store: Store) -> None:
    server.ml_node = False
    with pytest.raises(NotReady, match="no node with the role `ml`"):
        elser(store, endpoint_wait=0.1, retries=0)


def test_a_model_that_is_not_started(server: Server, store: Store) -> None:
    stage = elser(store)
    server.deployed.clear()
    with pytest.raises(
        NotReady, match=r"model \.elser_model_2 is starting, on no node: No ML nodes exist"
    ):
        stage.prepare()


def test_indexing_waits_for_a_model_that_starts(
    server: Server, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"service": "elasticsearch", "service_settings": {"model_id": ".elser_model_2"}}
    server.endpoints["convrag-elser"] = config
    tried: list[str] = []

    def infer(model: str) -> None:
        tried.append(model)
        if len(tried) == 4:
            server.deployed.add(".elser_model_2")
        Server.infer(server, model)

    monkeypatch.setattr(server, "infer", infer)
    monkeypatch.setattr("convrag_elasticsearch.inference_endpoint._POLL_INTERVAL", 0.01)
    assert ids(elser(store).retrieve([Query("kettle")], 1))


# Tokens from files
# ------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """SPLADE's part, played by the stand-in's own model: tokens of all sample passages, and of two
    queries.
    """
    corpus, queries = tmp_path / "passages.jsonl", tmp_path / "queries.jsonl"
    rows = [
        {
            "id": p.id,
            "vector": dict.fromkeys(find_beginnings(p.content), 1.5)
            | {"3.5": 1.0, "drop": -1.0, "": 2.0},
        }
        for p in passages()
    ]
    corpus.write_text("".join(f"{json.dumps(row)}\n" for row in reversed(rows)), encoding="utf-8")
    asked = [
        {"text": "copper kettle", "vector": {"coppe": 1.5}},
        {"_id": "t<::>1", "vector": {"green": 1, "3.5": 1}},
    ]
    queries.write_text("".join(f"{json.dumps(row)}\n" for row in asked), encoding="utf-8")
    return {"passage_vectors": corpus, "query_vectors": queries}


def test_tokens_from_files_are_indexed_and_searched(
    files: dict[str, Path], server: Server, store: Store
) -> None:
    stage = made(store, mode="sparse", **files)
    stage.prepare()
    assert list(stage.check()) == []
    assert ids(stage.retrieve([Query("copper kettle")], 1)) == ["tea-3"]
    stage.retrieve([Query("whatever", turn_id="t<::>1")], 9)  # by the turn
    assert server.searches()[-1][1]["query"]["sparse_vector"]["query_vector"] == {
        "green": 1.0,
        "3__5": 1.0,
    }
    assert not server.paths("/_inference")


def test_queries_may_go_to_an_endpoint_where_passages_come_from_a_file(
    files: dict[str, Path], server: Server, store: Store
) -> None:
    server.deploy("e", {"service": "elasticsearch", "service_settings": {"model_id": "splade"}})
    stage = made(store, mode="sparse", passage_vectors=files["passage_vectors"], inference_id="e")
    assert ids(stage.retrieve([Query("copper")], 1)) == ["tea-3"]
    assert not server.pipelines


def test_a_file_that_is_not_there(server: Server, store: Store, tmp_path: Path) -> None:
    options: ClassVar = {
        "passage_vectors": tmp_path / "none.jsonl",
        "query_vectors": tmp_path / "none.jsonl",
    }
    stage = ElasticsearchRetriever(
        dataset=Corpora(default=passages()),
        embedder=Hashed(),
        store=store,
        mode="sparse",
        **options,
    )
    assert any("none.jsonl: there is no such file" in problem for problem in stage.check())


# Options
# ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "sparse", "query": "semantic_text"}, "an endpoint makes all tokens"),
        ({"prefix": "My Index"}, "prefix='My Index' cannot begin an index's name"),
        ({"prefix": ""}, "prefix=''"),
        (
            {"mode": "sparse"},
            "tokens come from an endpoint or from files: set retriever.inference_id",
        ),
        ({"mode": "sparse", "passage_vectors": Path("x")}, "or retriever.query_vectors to a file"),
        ({"mode": "hybrid", "second": "sparse"}, "retriever=elser is set up for it"),
    ],
)
def test_what_makes_no_sense_is_said_at_once(
    options: dict[str, Any], message: str, store: Store
) -> None:
    with pytest.raises(ConfigError, match=message):
        ElasticsearchRetriever(
            dataset=Corpora(default=passages()), embedder=Hashed(), store=store, **options
        )


# The command
# ------------------------------------------------------------------------------------------------------


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_convrag(
        ["tracker=none", *arguments], Path.cwd(), environment={**os.environ, **environment}
    )


@pytest.mark.slow
def test_three_commands(server: Server, here: Path) -> None:
    chosen = ["+system=mmr", "llm=extractive", "embedder=lsa", "limit=1"]
    early = command(*chosen)
    assert early.returncode == 2
    assert (
        "no index of 'default' with these settings: run the same command with task=index"
        in early.stderr
    )
    assert early.stderr.count("\n") < 6, early.stderr
    index = command("task=index", "retriever=elser", "retriever.create_endpoint=true")
    assert index.returncode == 0, index.stderr
    assert "default: 119 passages are in convrag-default-elser-" in index.stdout
    _, summary = run_experiment(compose(*chosen, "tracker=none"), here / "run")
    assert summary.turns > 1
    assert not summary.failed


def test_the_preset_and_its_parts(server: Server) -> None:
    assert compose("+system=mmr").retriever._option_ == "elser"
    assert compose("+system=mmr", "retriever=bm25").retriever._option_ == "bm25"
    assert compose("+seed=mmr").retriever._option_ == "bm25"
