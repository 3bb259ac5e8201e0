"""Runs and grids on bad days: what a server refuses is told, has its own exit status, and is asked
for again.
"""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from commands import LIBRARIES, run_convrag
from llm_server import Server, Step, make_error, make_reply
from toys import STRANGE

pytestmark = pytest.mark.slow
needs_litellm = pytest.mark.skipif(not find_spec("litellm"), reason="needs litellm")


class Unwell(Server):
    """Refuses the requests that `refuses`, and answers others in its words: equal ones get equal replies.

    They are the first conversation's: the guard of rewriter=condense refuses others, as drifted
    rewrites.
    """

    def __init__(self) -> None:
        super().__init__()
        self.refuses: Callable[[str], bool] = lambda _: False
        self.answered: list[str] = []
        self.refused: list[str] = []

    def begin_request(self, body: dict[str, Any], path: str, key: str) -> Step:
        super().begin_request(body, path, key)
        request = json.dumps(body, sort_keys=True)
        with self._lock:
            (self.refused if self.refuses(request) else self.answered).append(request)
        if self.refuses(request):
            return make_error(400, "no")
        words = ("how", "far", "is", "the", "moon", "from", "the", "earth")
        return Step(
            body=make_reply(" ".join(words[byte % len(words)] for byte in hash_text(request)))
        )

    def forget(self) -> None:
        self.answered, self.refused = [], []


def hash_text(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()


@pytest.fixture
def server() -> Iterator[Unwell]:
    server = Unwell()
    yield server
    server.close()


def convrag(
    *arguments: str, folder: Path, server: Unwell | None = None, status: int
) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    command = [*arguments, "tracker=none", "metrics.ranking.measures=[R@5,nDCG@5]"]
    environment = {**os.environ, "OPENAI_API_KEY": "key"}
    if server:
        command += ["llm=openai_compatible", f"llm.api_base={server.address}"]
    libraries = LIBRARIES if server else ()
    done = run_convrag(command, folder, environment=environment, libraries=libraries)
    assert done.returncode == status, done.stdout[-2000:] + done.stderr[-3000:]
    return done


def metrics(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("outputs/2*/*/metrics.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_a_rewriter_that_gives_a_text_makes_the_run_partial(tmp_path: Path) -> None:
    (tmp_path / "strange.py").write_text(STRANGE)
    plugin = ("plugins=[strange.py]", "generator=none", "limit=2")
    done = convrag(*plugin, "rewriter=strange", folder=tmp_path, status=3)
    found = metrics(tmp_path)
    turns = found["turns"]
    assert (found["state"], found["failed"], found["always_fell_back"]) == (
        "partial",
        0,
        ["rewriter"],
    )
    ending = (
        f"This run is partial: the rewriter fell back in all {turns} turns that it was needed in."
    )
    assert (
        done.stdout.splitlines()[-3]
        == f"{ending} The same command asks again only for what is missing."
    )
    (page,) = tmp_path.glob("outputs/2*/*/summary.md")
    assert f"* {ending}" in page.read_text()


GRID = ("-m", "rewriter=none,last_n,condense", "generator=direct", "limit=1", "workers=2")


def cells(folder: Path) -> dict[str, str]:
    endings = [json.loads(path.read_text()) for path in folder.glob("outputs/sweeps/*/*/cell.json")]
    return {
        next(each for each in ending["overrides"] if "rewriter" in each): ending["state"]
        for ending in endings
    }


def scores(folder: Path) -> dict[Path, bytes]:
    """What a grid found: scores, rankings and answers of each cell, and the leaderboard."""
    names = (
        "*/scores.jsonl",
        "*/run.trec",
        "*/datasets/default.jsonl",
        "leaderboard.md",
        "leaderboard.csv",
    )
    paths = [path for name in names for path in folder.glob(f"outputs/sweeps/*/{name}")]
    return {path.relative_to(folder): path.read_bytes() for path in paths}


@needs_litellm
def test_a_grid_asks_again_exactly_what_a_server_refused(server: Unwell, tmp_path: Path) -> None:
    """A third of the requests gets 400; when the server is well again, the same command asks for
    what is missing.
    """
    convrag(*GRID, folder=tmp_path / "calm", server=server, status=0)
    needed = Counter(server.answered)
    assert set(needed.values()) == {1}
    server.forget()
    seen: dict[str, int] = {}
    server.refuses = lambda request: seen.setdefault(request, len(seen)) % 3 == 0
    ill = tmp_path / "ill"
    done = convrag(*GRID, folder=ill, server=server, status=3)
    assert cells(ill) == dict.fromkeys(
        ("rewriter=none", "rewriter=last_n", "rewriter=condense"), "partial"
    )
    assert "convrag: 3 of 3 cells partial: see " in done.stderr.splitlines()[-1]
    assert "No cell had to be run" not in done.stderr
    assert f"({len(server.refused)} of them failed)" in done.stderr
    assert "partial: " in done.stdout
    answered = set(server.answered)
    assert len(answered) > len(needed) / 3
    server.forget()
    server.refuses = lambda _: False
    again = convrag(*GRID, folder=ill, server=server, status=0)
    assert Counter(server.answered) == Counter(set(needed) - answered)
    assert set(cells(ill).values()) == {"ok"}
    assert scores(ill) == scores(tmp_path / "calm")
    assert "No cell had to be run" not in again.stderr
    server.forget()
    last = convrag(*GRID, folder=ill, server=server, status=0)
    assert not server.answered
    assert set(cells(ill).values()) == {"reused"}
    assert "convrag: No cell had to be run, and no call was made." in last.stderr
