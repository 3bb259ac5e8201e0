"""`python -m convrag task=serve` as a process: what it prints, its mistakes, and how signals end
it.
"""

import os
import signal
import socket
import threading
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from omegaconf import OmegaConf

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from commands import run_convrag
from convrag import Conversations
from convrag.api.errors import MissingExtra
from convrag.testing import TaskContract
from convrag_web.server.task import ServeTask
from llm_server import Server, Step, make_reply
from served import QUESTION, serve_command

pytestmark = pytest.mark.slow


class TestContract(TaskContract):
    def make(self) -> ServeTask:
        return ServeTask(port=0)


def test_it_serves_the_sample_with_nothing_else(tmp_path: Path) -> None:
    with serve_command(tmp_path, "hydra.run.dir=run") as command:
        assert "<html" in httpx.get(command.address).text.lower()
        reply = httpx.post(
            f"{command.address}/v1/chat/completions", json={"messages": [QUESTION]}, timeout=60
        )
        assert reply.json()["choices"][0]["message"]["content"]
        begun = httpx.post(f"{command.address}/api/conversations", json={})
        assert begun.status_code == 201
        status, out, err = command.stop()
    assert (status, out, err) == (0, "", "")
    log = (tmp_path / "run/convrag.log").read_text()
    assert "turn: model convrag, number 1, answered" in log
    assert "same side" not in log
    assert (tmp_path / "outputs/store/conversations.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals are sent as POSIX has it")
def test_a_signal_lets_turns_finish(tmp_path: Path) -> None:
    pytest.importorskip("litellm")
    llm = Server()
    llm.plan_replies(Step(body=make_reply("one two three four five six seven"), byte_delay=0.3))
    given = [
        "generator=direct",
        "llm=openai_compatible",
        "llm.model=openai/m",
        f"llm.api_base={llm.address}",
    ]
    try:
        with serve_command(tmp_path, *given) as command:
            api = f"{command.address}/api/conversations"
            id = httpx.post(api, json={}).json()["id"]
            with httpx.stream(
                "POST", f"{api}/{id}/turns", json={"question": "Whose client leaves?"}, timeout=60
            ) as left:
                next(left.iter_lines())
            body = {"messages": [QUESTION], "stream": True}
            with httpx.stream(
                "POST", f"{command.address}/v1/chat/completions", json=body, timeout=60
            ) as reply:
                lines = reply.iter_lines()
                next(lines)
                command.process.send_signal(signal.SIGTERM)
                text = "\n".join(lines)
            assert "seven" in text
            assert "[DONE]" in text
            out, err = command.process.communicate(timeout=30)
            assert (command.process.returncode, err) == (0, "")
            (line,) = out.splitlines()
            assert line.startswith("generator=direct answers: one call for a question")
            with pytest.raises(httpx.ConnectError):
                httpx.get(command.address)
        with closing(Conversations(tmp_path / "outputs/store/conversations.db")) as kept:
            (record,) = kept.records(id)
            assert str(record.answer.text).endswith("seven")
    finally:
        llm.close()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals are sent as POSIX has it")
@pytest.mark.parametrize(("grace", "signals"), [(0.5, 1), (60, 2)])
def test_turns_have_only_so_long_to_finish(tmp_path: Path, grace: float, signals: int) -> None:
    pytest.importorskip("litellm")
    llm = Server()
    llm.plan_replies(Step(body=make_reply(), silence=60))
    given = [
        "generator=direct",
        "llm=openai_compatible",
        "llm.model=openai/m",
        f"llm.api_base={llm.address}",
    ]
    replies: list[httpx.Response] = []
    try:
        with serve_command(tmp_path, *given, f"task.grace={grace}") as command:

            def ask() -> None:
                address = f"{command.address}/v1/chat/completions"
                replies.append(httpx.post(address, json={"messages": [QUESTION]}, timeout=60))

            asking = threading.Thread(target=ask)
            asking.start()
            end = time.monotonic() + 30
            while not llm.requests and time.monotonic() < end:
                time.sleep(0.05)
            started = time.monotonic()
            for _ in range(signals):
                command.process.send_signal(signal.SIGTERM)
                time.sleep(0.5)
            assert command.process.wait(30) == 0
            assert time.monotonic() - started < 10
            asking.join(10)
            assert [(reply.status_code, reply.json()["error"]["code"]) for reply in replies] == [
                (503, "stopping")
            ]
    finally:
        llm.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["task.host=0.0.0.0"], "CONVRAG_TOKEN"),
        (["task.workers=0"], "task.workers=0: it must be at least 1"),
        (
            ["task.models={mmr: 'rewriter=nonsense'}"],
            "task.models: mmr: rewriter 'nonsense' does not exist",
        ),
        (["task.models={}"], "name a model"),
        (["task.domain=nowhere"], "task.domain=nowhere"),
        (["task.conversations=postgresql://me:hidden-secret@localhost/a"], "password"),
        (["task.models={a: 'llm=claude'}"], "task.models: a: "),
    ],
)
def test_a_mistake_is_one_message(tmp_path: Path, arguments: list[str], said: str) -> None:
    environment = {
        name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_TOKEN"))
    }
    done = run_convrag(
        ["task=serve", "task.port=0", *arguments], tmp_path, environment=environment, timeout=60
    )
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "hidden-secret" not in done.stderr
    assert done.stdout == ""


def test_a_taken_port_is_one_message(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_convrag(["task=serve", f"task.port={port}"], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"convrag: task.host=127.0.0.1 task.port={port}: this address cannot be used: "
    )
    assert done.stderr.endswith("; task.port=0 takes a free port\n")
    assert done.stderr.count("\n") == 1


def test_a_folder_of_presets_is_a_model_for_each(tmp_path: Path) -> None:
    (tmp_path / "mine/short").mkdir(parents=True)
    for name, rewriter in (("one", "none"), ("two", "last_n")):
        text = f"# @package _global_\ndefaults:\n  - override /rewriter: {rewriter}\n\ntop_k: 3\ntop_n: 3\n"
        (tmp_path / f"mine/short/{name}.yaml").write_text(text)
    with serve_command(tmp_path, "task.models=mine/short", "generator=direct") as command:
        models = httpx.get(f"{command.address}/api/models").json()["models"]
        assert [(model["id"], model["overrides"]) for model in models] == [
            ("one", ["+short=one"]),
            ("two", ["+short=two"]),
        ]
        body = {"messages": [QUESTION], "model": "two", "convrag": True}
        reply = httpx.post(f"{command.address}/v1/chat/completions", json=body, timeout=60)
        assert len(reply.json()["convrag"]["contexts"]) == 3
        assert command.stop()[0] == 0


def test_with_a_token_another_address_is_served(tmp_path: Path) -> None:
    token = "a-token-that-is-long-enough"
    with serve_command(
        tmp_path, "task.host=0.0.0.0", "hydra.run.dir=run", environment={"CONVRAG_TOKEN": token}
    ) as command:
        address = command.address.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{address}/v1/models").status_code == 401
        reply = httpx.get(
            f"{address}/v1/models",
            headers={"Authorization": f"Bearer {token}", "Host": "any.example"},
        )
        assert reply.status_code == 200
        status, _, err = command.stop()
    assert (status, err) == (0, "")
    assert not [
        path
        for path in (tmp_path / "run").rglob("*")
        if path.is_file() and token in path.read_text()
    ]


def test_a_library_of_the_extra_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("convrag.api.errors.is_installed", lambda module: module != "httptools")
    with pytest.raises(MissingExtra, match=r"httptools.*convrag\[serve\]"):
        ServeTask().execute(OmegaConf.create({}), tmp_path)
