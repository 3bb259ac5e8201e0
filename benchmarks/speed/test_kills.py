"""A grid killed at forty moments of its life, and the same command again (-s prints).

The LLM is a server on loopback that answers in words of the request. At half of the moments it
fails one request in ten, before the kill and after it: with status 500, or by closing the
connection. Runs are kept in MLflow.
"""

import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from killing import Grid, check_killed
from llm_server import Server, Step, make_error, make_reply

pytestmark = pytest.mark.skipif(
    not (find_spec("litellm") and find_spec("mlflow")), reason="needs litellm and mlflow"
)

MOMENTS = 40
TRIES = 3  # of the same command after a kill, where turns fail in spite of llm's retries
SEED = 9
GRID = (
    "-m",
    "rewriter=condense,last_n",
    "top_n=2,3",
    "limit=4",
    "workers=2",
    "generator=direct",
    "tracker=mlflow",
)
RUNS = """
import json
from mlflow import MlflowClient
client = MlflowClient("sqlite:///outputs/mlflow.db")
experiment = client.get_experiment_by_name("convrag").experiment_id
print(json.dumps([[run.info.status, run.data.tags] for run in client.search_runs([experiment])]))
"""


class WordsOfTheRequest(Server):
    """Equal requests get equal replies, different ones different ones.

    Attributes:
        failing: whether one request in ten fails, counted from when this was set.
        answered: how many requests got a reply.
        failed: how many did not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answered = self.failed = 0
        self.failing = False
        self._counting = threading.Lock()

    def begin_request(self, body: dict[str, Any], path: str, key: str) -> Step:
        super().begin_request(body, path, key)
        with self._counting:
            if self.failing and (self.answered + self.failed) % 10 == 9:
                self.failed += 1
                return make_error(500, "a failure") if self.failed % 2 else Step(reset=True)
            self.answered += 1
        words = " ".join(message["content"] for message in body["messages"]).split()
        seed = blake2b(" ".join(words).encode(), digest_size=8).digest()
        return Step(body=make_reply(" ".join(words[byte % len(words)] for byte in seed)))


def shares(number: int, seed: int) -> list[float]:
    """So many shares of a whole at random, one in each of as many equal parts of it."""
    draw = random.Random(seed)
    return [(part + draw.random()) / number for part in range(number)]


@pytest.fixture
def server() -> Iterator[WordsOfTheRequest]:
    server = WordsOfTheRequest()
    server.delay = 0.05
    yield server
    server.close()


def grid(folder: Path, server: Server) -> Grid:
    folder.mkdir()
    arguments = (*GRID, "llm=openai_compatible", f"llm.api_base={server.address}")
    return Grid(folder, arguments, lambda: server.answered, "OpenAICompatible.complete")


def check_tracked(folder: Path) -> None:
    """A finished parent with one finished run for each cell."""
    done = subprocess.run(
        [sys.executable, "-c", RUNS], cwd=folder, capture_output=True, text=True, check=True
    )
    runs = json.loads(done.stdout)
    finished = [tags for status, tags in runs if status == "FINISHED"]
    assert len(finished) == 5
    assert {status for status, _ in runs} <= {"FINISHED", "KILLED"}  # none seems to run on
    children = [tags["convrag.cell"] for tags in finished if tags["convrag.kind"] == "run"]
    assert len(children) == len(set(children)) == 4


def test_forty_kills(server: WordsOfTheRequest, tmp_path: Path) -> None:
    calm = grid(tmp_path / "calm", server)
    took = calm.finish()
    assert calm.stored() == calm.asked()
    print(f"undisturbed: {took:.1f} s, {calm.stored()} calls")
    for number, share in enumerate(shares(MOMENTS, SEED)):
        disturbed = grid(tmp_path / str(number), server)
        before, failed = server.answered, server.failed
        server.failing = number % 4 >= 2
        by_time = number % 2 == 0  # the others by calls: inside a cell for sure
        limit = share * (took if by_time else calm.stored())

        def reached(
            seconds: float, by_time: bool = by_time, limit: float = limit, before: int = before
        ) -> bool:
            return (seconds if by_time else server.answered - before) >= limit

        stored, again = check_killed(disturbed, calm, reached, TRIES)
        check_tracked(disturbed.folder)
        when = f"{limit:.1f} s" if by_time else f"{limit:.0f} calls"
        failures = f", {server.failed - failed} requests failed" if server.failing else ""
        print(
            f"killed after {when}: {stored} replies stored, {again} calls made afterwards{failures}"
        )
