"""`tracker.traces=true` with task=chat, task=serve and Pipeline: each turn is a trace that belongs
to no run.
"""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from commands import LIBRARIES, StartedCommand
from convrag import Conversations, Pipeline
from convrag.sdk.errors import NotReady
from convrag_mlflow import tracker, turn_trace
from convrag_mlflow.connection import Connection
from convrag_mlflow.stage_options import describe_options
from convrag_mlflow.turn_trace import TraceWriter
from llm_server import Server, Step
from mlflow_database import ENVIRONMENT, copy_database, find_span, name_stages, read_traces
from served import QUESTION, serve_command
from tasks import run_task

pytest.importorskip("mlflow")

CHAT = (
    "task=chat",
    "task.conversation=moon",
    "task.suggestions=0",
    "tracker.traces=true",
    "generator=direct",
)
CONVERSATIONS = "convrag conversations"
STAGES = ["memory", "rewriter", "retriever", "reranker", "selector", "context", "generator"]


@pytest.fixture
def here(tmp_path: Path, database: Path) -> Path:
    copy_database(database, tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore")
def test_the_turns_of_a_chat_are_traces_in_a_session(here: Path) -> None:
    done = run_task(
        [*CHAT, "rewriter=last_n"],
        here,
        stdin="How far is the Moon?\nAnd its age?\n/again\n/exit\n",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Logged to MLflow. To look at it: " in done.stdout
    assert "/traces\n" in done.stdout
    traces = read_traces(here, experiment=CONVERSATIONS)
    assert [trace.info.request_preview for trace in traces] == [
        "How far is the Moon?",
        *["And its age?"] * 2,
    ]
    assert [trace.info.tags.get("convrag.attempt") for trace in traces] == [None, None, "1"]
    assert {trace.info.trace_metadata["mlflow.trace.session"] for trace in traces} == {"moon"}
    assert not any("mlflow.sourceRun" in trace.info.trace_metadata for trace in traces)
    for trace in traces:
        assert trace.info.state == "OK"
        assert name_stages(trace) == STAGES
        assert "rewriter=last_n" in trace.info.tags["convrag.configuration"].split()
        assert "generator=direct" in trace.info.tags["convrag.configuration"].split()
        assert trace.info.response_preview
    first, second, _ = traces
    (shown,) = find_span(second, "memory").inputs["history"]
    assert shown == {
        "question": "How far is the Moon?",
        "answer": first.data.spans[0].outputs["answer"],
    }


@pytest.mark.filterwarnings("ignore")
def test_the_same_turn_of_a_conversation_that_began_anew_is_another_trace(here: Path) -> None:
    for _ in range(2):
        assert run_task(CHAT, here, stdin="How far is the Moon?\n").returncode == 0
        Conversations(here / "outputs/store/conversations.db").reset("moon")
    assert len({trace.info.trace_id for trace in read_traces(here, experiment=CONVERSATIONS)}) == 2


def test_traces_without_mlflow_are_one_error(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    monkeypatch.setattr(
        tracker, "find_problem", lambda: "sqlalchemy is not installed: pip install sqlalchemy"
    )
    with pytest.raises(
        NotReady, match=r"tracker.traces=true: sqlalchemy is not installed: pip install sqlalchemy"
    ):
        Pipeline.compose("generator=none", "tracker=auto", "tracker.traces=true")


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("uvicorn"), reason="needs uvicorn")
def test_a_servers_turns_have_their_models_and_are_written_before_it_ends(here: Path) -> None:
    models = 'task.models={short: "rewriter=last_n", plain: "rewriter=none"}'
    with serve_command(
        here, models, "generator=direct", "tracker.traces=true", environment=ENVIRONMENT
    ) as command:
        for model in ("short", "plain"):
            body = {"messages": [QUESTION], "model": model}
            assert (
                httpx.post(
                    f"{command.address}/v1/chat/completions", json=body, timeout=60
                ).status_code
                == 200
            )
        begun = httpx.post(f"{command.address}/api/conversations", json={"model": "plain"}).json()
        address = f"{command.address}/api/conversations/{begun['id']}/turns"
        asked = httpx.post(address, json={"question": "How far is the Moon?"}, timeout=60)
        assert asked.status_code == 200, asked.text
        status, out, err = command.stop()
    assert (status, err) == (0, "")
    assert out.startswith("Logged to MLflow. ")
    traces = read_traces(here, experiment=CONVERSATIONS)
    assert [trace.info.tags["convrag.model"] for trace in traces] == ["short", "plain", "plain"]
    rewriters = [find_span(trace, "rewriter").attributes["convrag.option"] for trace in traces]
    assert rewriters == ["last_n", "none", "none"]
    sessions = [trace.info.trace_metadata["mlflow.trace.session"] for trace in traces]
    assert sessions[2] == begun["id"]
    assert len(set(sessions)) == 3


PROGRAM = """
from convrag import Pipeline
chat = Pipeline.compose("rewriter=last_n", "generator=direct", "tracker.traces=true")
assert chat.turn("mine", "How far is the Moon?").answer.text
"""


@pytest.mark.slow
def test_a_programs_turns_are_written_before_it_ends(here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=here, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (trace,) = read_traces(here, experiment=CONVERSATIONS)
    assert trace.info.trace_metadata["mlflow.trace.session"] == "mine"


def test_the_configuration_in_a_tag_is_of_the_stages_of_a_turn() -> None:
    config = {
        "dataset": {"_option_": "sample"},
        "generator": {"_option_": "direct"},
        "ranker": {"_option_": "bm25"},
    }
    assert (
        describe_options({**config, "top_k": 3, "metrics": {}}) == "dataset=sample generator=direct"
    )


@pytest.mark.slow
def test_a_chat_that_a_signal_ends_writes_its_turns_first(here: Path) -> None:
    pipe = subprocess.PIPE
    with StartedCommand(
        CHAT,
        here,
        environment=ENVIRONMENT,
        libraries=LIBRARIES,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("How far is the Moon?\n")
        while "Sources:" not in (line := process.stdout.readline()):
            assert line, "the chat has ended"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in err
    assert len(read_traces(here, experiment=CONVERSATIONS)) == 1


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_spec("uvicorn") and find_spec("litellm")), reason="needs uvicorn and litellm"
)
def test_a_turn_that_a_client_leaves_is_a_trace_of_what_was_done(here: Path) -> None:
    llm = Server()
    llm.plan_replies(Step(silence=60))
    given = (
        "llm=openai_compatible",
        "llm.model=openai/x",
        f"llm.api_base={llm.address}",
        "llm.retries=0",
    )
    given = (*given, "rewriter=none", "generator=direct", "tracker.traces=true", "task.timeout=3")
    variables = {**ENVIRONMENT, "OPENAI_API_KEY": "key-of-the-server"}
    try:
        with serve_command(here, *given, environment=variables) as command:
            body = {"messages": [QUESTION]}
            reply = httpx.post(f"{command.address}/v1/chat/completions", json=body, timeout=60)
            assert reply.status_code == 504, reply.text
            assert command.stop()[0] == 0
    finally:
        llm.close()
    (trace,) = read_traces(here, experiment=CONVERSATIONS)
    assert trace.info.state == "ERROR"
    assert trace.info.tags["convrag.error"] == "generator: stopped before its end"
    assert name_stages(trace) == STAGES
    root, generator = trace.data.spans[0], find_span(trace, "generator")
    assert str(generator.status.status_code) == "SpanStatusCode.ERROR"
    assert generator.end_time_ns - generator.start_time_ns > 2e9
    assert root.end_time_ns >= generator.end_time_ns


class Target(Connection):
    """Takes texts once its gate is open; `broken` makes it raise."""

    def __init__(self) -> None:
        super().__init__("sqlite:///x.db", "x")
        self.gate = threading.Event()
        self.written: list[Any] = []
        self.broken = False

    def open(self) -> Any:
        return SimpleNamespace(traces=self)

    def write(self, turns: Sequence[Any]) -> None:
        if turns:
            self.gate.wait(120)
        if self.broken:
            raise OSError("no space left")
        self.written += turns


def add(writer: TraceWriter, *turns: Any) -> None:
    writer.start()
    for turn in turns:
        writer.add(turn)


def test_nobody_waits_for_a_target_that_hangs_and_what_does_not_fit_is_dropped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(turn_trace, "MAX_WAITING", 5)
    writer = TraceWriter(target := Target())
    began = time.monotonic()
    add(writer, *range(10))
    left = writer.flush(0.05)
    assert left in (5, 6)  # the thread may have taken one
    assert time.monotonic() - began < 60
    assert "they come faster than MLflow takes them" in caplog.text
    target.gate.set()
    assert writer.flush(30) == 0
    assert len(target.written) == left
    assert target.written == sorted(target.written)


def test_a_target_that_fails_is_told_of_once_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    writer = TraceWriter(target := Target())
    target.gate.set()
    target.broken = True
    for number in range(3):
        add(writer, number)
        assert writer.flush(30) == 0
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "no space left" in caplog.text
    target.broken = False
    add(writer, 3)
    assert writer.flush(30) == 0
    assert target.written == [3]
