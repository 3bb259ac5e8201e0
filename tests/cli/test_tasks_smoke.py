"""Each task that needs no files of other tools, once, in this process, over the bundled sample."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from convrag.config.compose import compose
from convrag.sdk.tasks.options import plugins
from convrag.turn.wiring import Wiring

FAST = ("limit=1", "generator=direct", "rewriter=none", "tracker=none", "report=false")

NEED_FILES = {"agreement", "detect_nuggets", "score_nuggets", "mcp"}
"""Tasks that read judgements or certain runs, or serve a client; the tests of their plugins carry
them out.
"""

Execute = Callable[..., str]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("finished")
    config = compose(*FAST, f"store.path={folder / 'store'}")
    assert Wiring(config).get("task").execute(config, folder / "run") == 0
    return folder / "run"


@pytest.fixture
def execute(here: Path, capsys: pytest.CaptureFixture[str]) -> Execute:
    """Carries out a task with overrides, and returns what it has printed."""

    def carry_out(task: str, *overrides: str) -> str:
        (here / "run").mkdir(exist_ok=True)
        config = compose(f"task={task}", *FAST, *overrides)
        assert Wiring(config).get("task").execute(config, here / "run") == 0
        return capsys.readouterr().out

    return carry_out


def test_each_task_is_here_or_needs_files() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert (
        tested - {"each_task_is_here_or_needs_files"}
        == set(plugins.load().registry.options("task")) - NEED_FILES
    )


def test_run(finished: Path) -> None:
    assert "nDCG@5" in (finished / "summary.md").read_text(encoding="utf-8")
    assert (finished / "run.trec").read_text(encoding="utf-8").startswith("moon-basics<::>1 Q0 ")


def test_record(execute: Execute, here: Path) -> None:
    assert "replies.jsonl" in execute("record", "task.path=replies.jsonl")
    assert all(
        json.loads(line)
        for line in (here / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    )


def test_evaluate(execute: Execute, finished: Path, here: Path) -> None:
    assert "nDCG@5" in execute("evaluate", f"task.run={finished / 'run.trec'}")
    scored = json.loads((here / "run/metrics.json").read_text(encoding="utf-8"))
    assert scored["overall"]["nDCG@5"] > 0


def test_export(execute: Execute, finished: Path, here: Path) -> None:
    assert "Written: a.csv" in execute(
        "export", f"task.records={finished}", "task.format=csv", "task.path=a.csv"
    )
    assert (here / "a.csv").read_text(encoding="utf-8").startswith("turn_id,")


def test_index(execute: Execute) -> None:
    assert "retriever: " in execute("index", "retriever=bm25")


def test_chat(execute: Execute, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "stdin", io.StringIO("How far is the Moon?\n/why\n/save moon.md\n/quit\n")
    )
    said = execute("chat", "task.conversation=moon", "task.suggestions=0")
    for expected in (
        "Searching for: How far is the Moon?",
        "Passages",
        "Saved: moon.md",
        "To go on:",
    ):
        assert expected in said
    assert "How far is the Moon?" in (here / "moon.md").read_text(encoding="utf-8")


def test_serve(here: Path) -> None:
    """The application that the task serves, with a client in this process: no port is opened."""
    pytest.importorskip("fastapi")
    from served import serve

    with serve(here, *FAST[1:]) as server:
        reply = server.complete(convrag=True).json()
        assert reply["choices"][0]["message"]["annotations"]
        assert server.http.get("/").text.startswith("<!doctype html>")
        id = server.http.post("/api/conversations", json={}).json()["id"]
        assert (
            "event: record"
            in server.http.post(f"/api/conversations/{id}/turns", json={"question": "Why?"}).text
        )


def test_compare(execute: Execute, finished: Path, here: Path) -> None:
    other = here / "other"
    config = compose(*FAST, "retriever.k1=0.5")
    assert Wiring(config).get("task").execute(config, other) == 0
    assert "nDCG@5" in execute("compare", f"task.runs=[{finished},{other}]")


def test_plugins(execute: Execute) -> None:
    assert "convrag_mmr.rewriter:MMRRewriter" in "".join(
        execute("plugins", "task.stage=rewriter").split()
    )
    listed = json.loads(execute("plugins", "task.stage=clusterer", "task.json=true"))
    assert {"kmeans", "agglomerative"} <= {each["name"] for each in listed["options"]}


def test_doctor(execute: Execute) -> None:
    assert "Nothing is in the way." in execute("doctor")


def test_new_plugin(execute: Execute, here: Path) -> None:
    said = execute("new_plugin", "task.package=acme_words", "task.stage=rewriter")
    assert "pip install -e 'acme-words[test]'" in said
    assert (here / "acme-words/acme_words/rewriter.py").is_file()


def test_questions(execute: Execute, here: Path) -> None:
    said = execute("questions", "task.conversations=1", "task.turns=2", "llm=extractive")
    assert "Written: questions" in said
    assert (
        len((here / "questions/conversations.jsonl").read_text(encoding="utf-8").splitlines()) == 1
    )
