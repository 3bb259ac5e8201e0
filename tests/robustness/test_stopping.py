"""A signal ends a command within seconds, whatever hangs; the same command then goes on, and asks
nothing twice.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import pytest

from commands import LIBRARIES, StartedCommand
from llm_server import Server, Step, make_error, make_reply
from mlflow_database import copy_database

pytest.importorskip("litellm")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals are sent as POSIX has it"),
]

joblib = pytest.mark.skipif(
    not find_spec("hydra_plugins.hydra_joblib_launcher"), reason="needs the joblib launcher"
)
SECONDS = 20
"""What a stop may take on a machine that is busy with other tests; alone it is two at most."""

RUN = ["rewriter=none", "generator=direct", "limit=1"]
TURNS = 7
"""In the first conversation of the sample."""

NEVER = Step(body=make_reply(), silence=600)
LATER = make_error(429, headers={"retry-after": "90"})

SLOW = """
import hashlib, time
from pathlib import Path
from convrag import Metrics, hookimpl

class Deaf(Metrics):
    "Is in C code of the main thread for a minute, where no signal is heard."
    def measure(self, records):
        Path("measuring").touch()
        hashlib.pbkdf2_hmac("sha512", b"a", b"b", 10**9)
        return {}

class Stubborn(Metrics):
    "Does not let go."
    def measure(self, records):
        Path("measuring").touch()
        try:
            time.sleep(600)
        finally:
            Path("told").touch()
            time.sleep(600)

@hookimpl
def convrag_register(register):
    register("metrics", "deaf", Deaf)
    register("metrics", "stubborn", Stubborn)
"""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a command, which ends with the test."""
    started: list[Command] = []

    def start(*arguments: str, folder: Path = tmp_path, itself: bool = False) -> Command:
        started.append(Command(folder, *arguments, itself=itself))
        return started[-1]

    yield start
    for command in started:
        command.end()


class Start(Protocol):
    def __call__(self, *arguments: str, folder: Path = ..., itself: bool = ...) -> Command: ...


class Command:
    """A command in a process of its own, in a folder of its own.

    It is forked from one that has imported its libraries, unless it is to be `python -m convrag`
    itself.
    """

    def __init__(self, folder: Path, *arguments: str, itself: bool = False) -> None:
        self.folder = folder
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        with (folder / "said.txt").open("ab") as said:
            if itself:
                self.process: StartedCommand | subprocess.Popen[bytes] = subprocess.Popen(
                    [sys.executable, "-m", "convrag", *arguments],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            else:
                self.process = StartedCommand(
                    arguments,
                    folder,
                    environment=environment,
                    libraries=LIBRARIES,
                    stdin=subprocess.PIPE,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    session=True,
                )

    def end(self) -> None:
        """Kill what is left of it."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdin
        self.process.stdin.close()

    def wait_until(self, reached: Callable[[], bool]) -> None:
        end = time.monotonic() + 120
        while not reached():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < end, self.said()
            time.sleep(0.05)

    def say(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def stop(self, sent: signal.Signals = signal.SIGINT, *, group: bool = False) -> int:
        """Send it a signal; its exit status."""
        start = time.monotonic()
        if group:
            os.killpg(self.process.pid, sent)
        else:
            self.process.send_signal(sent)
        status = self.process.wait(timeout=SECONDS)
        sys.stderr.write(f"{sent.name}: {time.monotonic() - start:.2f} s\n")
        return status

    def said(self) -> str:
        return (self.folder / "said.txt").read_text()


def at(server: Server, *arguments: str) -> list[str]:
    """The arguments of a command that asks this server."""
    options = ["llm.model=openai/m", f"llm.api_base={server.address}", "llm.timeout=300"]
    return ["llm=openai_compatible", *options, *arguments]


def check_stopped(command: Command, status: int, sent: signal.Signals) -> None:
    """It ended with one line, and left nothing half-written."""
    assert status == 128 + sent, command.said()
    ending = "interrupted" if sent is signal.SIGINT else f"stopped by {sent.name}"
    kept = "What was computed is kept in outputs/store: the same command goes on from there."
    assert command.said().count(f"convrag: {ending}. {kept}\n") == 1
    assert "Traceback" not in command.said()
    left = [
        path
        for path in command.folder.rglob("*")
        if "unfinished" in path.name or path.name == ".convrag.lock"
    ]
    assert left == []
    assert not list(command.folder.rglob("metrics.json"))


def check_resumed(start: Start, server: Server, arguments: list[str], expected: int) -> None:
    """The same command goes on to its end, with so many requests."""
    server.plan_replies(make_reply())
    again = start(*arguments)
    assert again.process.wait(timeout=120) == 0, again.said()
    assert len(server.requests) == expected


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_never_answers(
    sent: signal.Signals, server: Server, start: Start, tmp_path: Path
) -> None:
    arguments = at(server, *RUN, "tracker=none")
    server.plan_replies(make_reply(), make_reply(), NEVER)
    command = start(*arguments, itself=True)
    command.wait_until(lambda: len(server.requests) == 3)
    check_stopped(command, command.stop(sent), sent)
    check_resumed(start, server, arguments, TURNS - 2)


def test_a_server_that_puts_off(server: Server, start: Start, tmp_path: Path) -> None:
    arguments = at(server, *RUN, "tracker=none")
    server.plan_replies(make_reply(), LATER)
    command = start(*arguments)
    command.wait_until(lambda: len(server.requests) == 2)
    time.sleep(0.5)
    check_stopped(command, command.stop(), signal.SIGINT)
    assert len(server.requests) == 2
    check_resumed(start, server, arguments, TURNS - 1)


def test_a_call_that_another_process_makes(server: Server, start: Start, tmp_path: Path) -> None:
    """The second one waits for the lock of the first one's call."""
    arguments = at(server, *RUN, "tracker=none")
    server.plan_replies(NEVER)
    first = start(*arguments, "hydra.run.dir=outputs/first")
    first.wait_until(lambda: len(server.requests) == 1)
    (second_folder := tmp_path / "second").mkdir()
    second = start(*arguments, f"store.path={tmp_path}/outputs/store", folder=second_folder)
    second.wait_until(lambda: bool(list(second_folder.rglob(".unfinished"))))
    time.sleep(1)
    assert second.stop() == 130
    assert not list(second_folder.rglob(".unfinished"))
    assert len(server.requests) == 1
    check_stopped(first, first.stop(), signal.SIGINT)


@pytest.mark.parametrize(
    ("mode", "sent"),
    [
        ("run", signal.SIGINT),
        ("grid", signal.SIGHUP),
        pytest.param("joblib", signal.SIGTERM, marks=joblib),
    ],
)
@pytest.mark.skipif(not find_spec("mlflow"), reason="needs mlflow")
def test_nothing_stays_open_in_mlflow(
    mode: str, sent: signal.Signals, database: Path, server: Server, start: Start, tmp_path: Path
) -> None:
    modes = {
        "run": [],
        "grid": ["-m", "top_n=1,2"],
        "joblib": ["-m", "top_n=1,2", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"],
    }
    copy_database(database, tmp_path)
    arguments = [*modes[mode], *at(server, *RUN, "tracker=mlflow", "metrics=[]")]
    server.plan_replies(make_reply(), NEVER)
    command = start(*arguments)
    command.wait_until(lambda: len(server.requests) >= 2 + (mode == "joblib"))
    status = command.stop(
        sent, group=sent is not signal.SIGTERM
    )  # a terminal signals all, `kill` one
    assert status == 128 + sent, command.said()
    assert "Traceback" not in command.said()
    assert not [path for path in tmp_path.rglob("*") if "unfinished" in path.name]
    if mode != "run":  # runs are logged by the same command again
        assert read_tracked(tmp_path) == [("sweep", "KILLED")]
    expected = (1 if mode == "run" else 2) * TURNS - 1  # one was answered before
    check_resumed(start, server, arguments, expected)
    if mode == "run":
        assert read_tracked(tmp_path) == [("run", "FINISHED")]


def read_tracked(folder: Path) -> list[tuple[str, str]]:
    """(kind, status) of all runs in MLflow."""
    import warnings

    from mlflow import MlflowClient

    with chdir(folder), warnings.catch_warnings(action="ignore"):
        client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
        experiment = client.get_experiment_by_name("convrag").experiment_id
        return [
            (run.data.tags["convrag.kind"], run.info.status)
            for run in client.search_runs([experiment])
        ]


@pytest.mark.skipif(not find_spec("mlflow"), reason="needs mlflow")
def test_c_code_in_the_main_thread(
    database: Path, server: Server, start: Start, tmp_path: Path
) -> None:
    """What its blocks would have closed is closed without them."""
    copy_database(database, tmp_path)
    (tmp_path / "slow.py").write_text(SLOW)
    options = ["plugins=[slow.py]", "metrics=[deaf]", "tracker=mlflow"]
    command = start("-m", "top_n=1", *at(server, *RUN, *options))
    command.wait_until((tmp_path / "measuring").exists)
    time.sleep(0.5)
    check_stopped(command, command.stop(), signal.SIGINT)
    assert read_tracked(tmp_path) == [("sweep", "KILLED")]


def test_while_libraries_are_imported(start: Start, tmp_path: Path) -> None:
    waits = "import time\nfrom pathlib import Path\nPath('importing').touch()\ntime.sleep(60)\n"
    (tmp_path / "hydra.py").write_text(waits)
    command = start(itself=True)
    command.wait_until((tmp_path / "importing").exists)
    assert command.stop() == 130
    assert command.said() == "convrag: interrupted.\n"


def test_a_second_signal_ends_it_at_once(server: Server, start: Start, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    arguments = at(server, *RUN, "plugins=[slow.py]", "metrics=[stubborn]", "tracker=none")
    command = start(*arguments)
    command.wait_until((tmp_path / "measuring").exists)
    time.sleep(0.5)
    command.process.send_signal(signal.SIGINT)
    command.wait_until((tmp_path / "told").exists)
    time.sleep(0.5)
    assert command.stop() == 130
    assert "interrupted" not in command.said()


def test_a_chat_gives_the_prompt_again_and_sigterm_ends_it(
    server: Server, start: Start, tmp_path: Path
) -> None:
    server.plan_replies(NEVER, make_reply("A cat."), NEVER)
    arguments = at(server, "task=chat", "rewriter=none", "generator=direct", "tracker=none")
    command = start(*arguments)
    command.say("What is a dog?")
    command.wait_until(lambda: len(server.requests) == 1)
    command.process.send_signal(signal.SIGINT)
    command.wait_until(lambda: "Interrupted; this turn is not kept" in command.said())
    time.sleep(4)  # it is not ended later on
    command.say("What is a cat?")
    command.wait_until(lambda: "A cat." in command.said())
    assert "What is a dog?" not in json.dumps(server.requests[1])
    command.say("What is a cow?")
    command.wait_until(lambda: len(server.requests) == 3)
    assert command.stop(signal.SIGTERM) == 143


def test_a_signal_that_is_to_be_ignored(server: Server, start: Start, tmp_path: Path) -> None:
    """As under nohup."""
    server.plan_replies(NEVER)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        command = start(*at(server, *RUN, "tracker=none"), itself=True)
    finally:
        signal.signal(signal.SIGHUP, before)
    command.wait_until(lambda: len(server.requests) == 1)
    command.process.send_signal(signal.SIGHUP)
    time.sleep(4)
    assert command.process.poll() is None
    assert command.stop(signal.SIGTERM) == 143


FORK = """
import os, signal, time
from convrag.cli.signals import watch_signals
watch_signals()
child = os.fork()
if not child:
    time.sleep(60)
    os._exit(0)
time.sleep(0.5)
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
time.sleep(4)
print("alive")
"""


def test_a_forked_child_is_ended_by_itself(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == [str(-signal.SIGTERM), "alive"], done.stderr


LIBRARY = """
import json, signal, sys
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
from convrag import Pipeline
pipeline = Pipeline.compose("rewriter=none", "generator=none")
pipeline.turn("a", "What is a dog?")
import convrag.run.runner
assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
assert signal.set_wakeup_fd(-1) == -1
"""


def test_a_library_handles_no_signals(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", LIBRARY], cwd=tmp_path, check=True, timeout=120)
