"""Nodes of real search engines that are killed, halted or full: nothing is lost, and no search
fails or finds less.

Moments and victims follow a seed. `CONVRAG_KILLS=20 pytest -n 0 -m cluster
tests/integration/test_search_engine_kills.py` tries twenty moments of indexing and of searching; by
default, one node is killed while indexing, two while searching.
"""

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from convrag import Query
from convrag.store.store import Store
from convrag_elasticsearch.errors import ClusterError
from convrag_elasticsearch.retriever import (
    ClusterRetriever,
    ElasticsearchRetriever,
    OpenSearchRetriever,
)
from elasticsearch_toys import Streamed
from search_engines import SearchEngine

pytestmark = [pytest.mark.cluster, pytest.mark.integration]

CLASSES = {"elasticsearch": ElasticsearchRetriever, "opensearch": OpenSearchRetriever}
MOMENTS = range(int(os.environ.get("CONVRAG_KILLS", "1")))
COUNT = 3000
ALIASED = "convrag-default-bm25"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def make(engine: SearchEngine, store: Store, dataset: Streamed, **options: Any) -> ClusterRetriever:
    defaults = {"chunk": 50, "timeout": 60.0, "retries": 20, "retry_seconds": 120.0}
    nothing: Any = None
    return CLASSES[engine.engine](
        dataset=dataset, embedder=nothing, store=store, **{**defaults, **options}
    )


def find_victim(engine: SearchEngine, role: int) -> int:
    """The node with the primary, with the replica, or the manager."""
    (name,) = engine.list_indexes("convrag-")
    roles: list[Callable[[], int]] = [
        lambda: engine.find_node(name, "p"), lambda: engine.find_node(name, "r"), engine.find_manager
    ]  # fmt: skip
    return roles[role % len(roles)]()


class Killer:
    """Kills nodes, and starts them again after three seconds: a primary that had no replica yet is waited for."""

    def __init__(self, engine: SearchEngine) -> None:
        self.engine = engine
        self.killed: list[int] = []
        self._restarts: list[threading.Timer] = []

    def kill(self, *nodes: int) -> None:
        self.engine.kill(*nodes)
        self.killed += nodes
        self._restarts.append(threading.Timer(3, self.engine.restart, nodes))
        self._restarts[-1].start()

    def wait(self) -> None:
        """Wait until all nodes and copies are back."""
        for each in self._restarts:
            each.join()
        self.engine.wait_for_green()


@pytest.fixture
def killer(any_engine: SearchEngine) -> Iterator[Killer]:
    killer = Killer(any_engine)
    yield killer
    killer.wait()


def count_everywhere(engine: SearchEngine, index: str) -> set[int]:
    """What each copy of an index holds."""
    rows = engine.request("GET", f"/_cat/shards/{index}?format=json&h=docs")
    return {int(row["docs"]) for row in rows}


@pytest.mark.parametrize("seed", MOMENTS)
def test_a_node_is_killed_while_indexing(
    seed: int, any_engine: SearchEngine, store: Store, killer: Killer
) -> None:
    """At a passage; or, every fourth time, the manager just before the alias is given."""
    seed += len(any_engine.engine)  # by default not the same for both
    moment = random.Random(seed).randrange(COUNT // 4, COUNT)

    def kill_once(role: int) -> None:
        if not killer.killed:
            killer.kill(find_victim(any_engine, role))

    stage = make(
        any_engine,
        store,
        Streamed(COUNT, on_read={moment: lambda: seed % 4 == 2 or kill_once(seed)}),
    )
    send = stage.cluster._send

    def send_or_kill(method: str, path: str, *body: Any) -> Any:
        if path == "/_aliases":
            kill_once(2)
        return send(method, path, *body)

    stage.cluster._send = send_or_kill  # type: ignore[method-assign]
    (said,) = stage.index()
    assert f"{COUNT:,} passages are in" in said
    stage.prepare()
    killer.wait()
    assert len(killer.killed) == 1
    assert count_everywhere(any_engine, ALIASED) == {COUNT}


def search_all(
    stage: ClusterRetriever, moments: dict[int, Callable[[], object]]
) -> list[list[tuple[str, float]]]:
    """The rankings of 400 questions, from eight threads; what belongs to a moment happens before
    its question.
    """

    def ask(number: int) -> list[tuple[str, float]]:
        moments.get(number, lambda: None)()
        return [
            (hit.passage.id, hit.score)
            for hit in stage.retrieve([Query(f"passage {number} tea")], 5)
        ]

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, range(400)))


@pytest.fixture
def searched(any_engine: SearchEngine, store: Store) -> ClusterRetriever:
    """A retriever whose index has all its copies."""
    stage = make(any_engine, store, Streamed(COUNT), window=0.0)
    stage.index()
    any_engine.wait_for_green()
    return stage


@pytest.mark.parametrize(
    "seed", MOMENTS[1:] or [pytest.param(0, marks=pytest.mark.skip(reason="CONVRAG_KILLS=20"))]
)
def test_a_node_is_killed_while_searching(
    seed: int, any_engine: SearchEngine, searched: ClusterRetriever, killer: Killer
) -> None:
    moment, wanted = random.Random(seed).randrange(400), search_all(searched, {})
    assert (
        search_all(searched, {moment: lambda: killer.kill(find_victim(any_engine, seed))}) == wanted
    )
    assert len(killer.killed) == 1


def test_two_of_three_nodes_are_killed_and_come_back(
    any_engine: SearchEngine,
    searched: ClusterRetriever,
    killer: Killer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The run says that it waits, and goes on."""
    wanted = search_all(searched, {})
    nodes = (any_engine.find_node(ALIASED, "p"), any_engine.find_node(ALIASED, "r"))
    assert search_all(searched, {100: lambda: killer.kill(*nodes)}) == wanted
    assert "It is asked again, with pauses of 120 s together at most." in caplog.text


def test_a_node_that_halts_for_ten_seconds_is_waited_for(
    any_engine: SearchEngine, searched: ClusterRetriever
) -> None:
    wanted = search_all(searched, {})
    node = any_engine.find_node(ALIASED, "p")
    goes_on = threading.Timer(10, any_engine.signal, (node, signal.SIGCONT))

    def halt() -> None:
        any_engine.signal(node, signal.SIGSTOP)
        goes_on.start()

    assert search_all(searched, {100: halt}) == wanted
    goes_on.join()
    any_engine.wait_for_green()


def test_a_full_disk_is_waited_for_and_named(any_engine: SearchEngine, store: Store) -> None:
    """A cluster makes an index read-only when a disk is full, until there is room again."""

    def block(value: bool | None) -> None:
        (name,) = any_engine.list_indexes("convrag-")
        any_engine.request(
            "PUT", f"/{name}/_settings", {"index.blocks.read_only_allow_delete": value}
        )

    full = {500: lambda: block(True)}
    with pytest.raises(
        ClusterError, match="Its disk is full, or somebody has made the index read-only"
    ):
        make(any_engine, store, Streamed(COUNT, on_read=full), retries=1).index()
    room = threading.Timer(2, block, [None])
    room.start()
    (said,) = make(any_engine, store, Streamed(COUNT)).index()
    room.join()
    assert "of them from an earlier attempt" in said
    assert count_everywhere(any_engine, ALIASED) == {COUNT}
