"""How tests run the command: as `python -m convrag` in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from commands import StartedCommand, run_convrag

pytestmark = pytest.mark.slow

TASK = """
import atexit, json, os, sys, threading
from pathlib import Path
from convrag import Task, hookimpl

class Told(Task):
    "Tells what process it runs in."
    def __init__(self, ending="0"):
        self.ending = ending
    def execute(self, config, folder):
        import numpy
        from convrag.registry import plugins
        atexit.register(print, "goodbye")
        told = {"argv": sys.argv[1:], "folder": os.getcwd(), "path": sys.path[0], "stdin": sys.stdin.read()}
        told |= {"variables": dict(os.environ), "process": os.getpid(), "random": numpy.random.random()}
        told |= {"threads": threading.active_count(), "hash": hash("moon"), "main": sys.modules["__main__"].__name__}
        Path("told.json").write_text(json.dumps(told))
        print("to stdout")
        print("to stderr", file=sys.stderr)
        if self.ending == "kill":
            os.kill(os.getpid(), 9)
        if self.ending == "sleep":
            import time
            time.sleep(100)
        if self.ending == "raise":
            raise BaseException("no exception of a stage")
        return int(self.ending)

@hookimpl
def convrag_register(register):
    register("task", "told", Told)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "told.py").write_text(TASK)
    return tmp_path


def run_task(folder: Path, ending: str = "0", **options: object) -> subprocess.CompletedProcess[str]:
    arguments = ["plugins=[told.py]", "task=told", f"task.ending='{ending}'", "hydra.run.dir=out"]
    return run_convrag(arguments, folder, **options)


def test_what_it_says_and_how_it_ends(folder: Path) -> None:
    done = run_task(folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "to stdout\ngoodbye\n", "to stderr\n")
    assert run_task(folder, "1").returncode == 1
    assert run_convrag(["rewriter=nosuch"], folder).returncode == 2
    assert run_task(folder, "kill").returncode == -9
    raised = run_task(folder, "raise")
    assert raised.returncode == 1
    assert raised.stderr.startswith("to stderr\nTraceback (most recent call last):\n")
    assert raised.stderr.endswith("BaseException: no exception of a stage\n")


def test_what_it_is_given(folder: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(["first", "second"]), "MOON": "full"}
    run_task(folder, environment=variables, stdin="one\ntwo\n")
    told = json.loads((folder / "told.json").read_text())
    assert told["variables"] | variables == told["variables"]
    assert told["stdin"] == "one\ntwo\n"
    assert told["folder"] == told["path"] == str(folder)
    assert told["main"] == "__main__"
    assert "task=told" in told["argv"]


def test_nothing_is_left_for_the_next(folder: Path) -> None:
    first = run_task(folder, environment={**os.environ, "MOON": "full"})
    told = json.loads((folder / "told.json").read_text())
    assert run_task(folder).stdout == first.stdout
    again = json.loads((folder / "told.json").read_text())
    assert "MOON" not in again["variables"]
    assert told["process"] != again["process"]
    assert told["random"] != again["random"]
    assert told["threads"] == again["threads"]
    listing = ["task=plugins", "task.stage=task", "tracker=none"]
    assert "\n  told" in run_convrag([*listing, "plugins=[told.py]"], folder).stdout
    assert "\n  told" not in run_convrag(listing, folder).stdout


def test_one_that_takes_too_long_is_killed(folder: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired) as raised:
        run_task(folder, "sleep", timeout=15)
    assert raised.value.stderr == "to stderr\n"
    process = json.loads((folder / "told.json").read_text())["process"]
    assert run_task(folder).returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_one_that_goes_on_beside_the_test(folder: Path) -> None:
    arguments = ["plugins=[told.py]", "task=told", "hydra.run.dir=out", "task.ending="]
    waiting, done = ([*arguments[:-1], f"task.ending='{ending}'"] for ending in ("sleep", "3"))
    with StartedCommand(waiting, folder, stdin=PIPE, stdout=PIPE, stderr=PIPE, session=True, text=True) as command:
        assert command.stdin
        command.stdin.write("one\n")
        command.stdin.close()
        assert command.stdout
        assert command.stderr.readline() == "to stderr\n"
        with pytest.raises(subprocess.TimeoutExpired):
            command.wait(0.01)
        assert command.poll() is None
        told = json.loads((folder / "told.json").read_text())
        assert (told["stdin"], told["process"]) == ("one\n", command.pid)
        assert os.getpgid(command.pid) == command.pid != os.getpgid(0)
        assert run_task(folder, "1").returncode == 2  # beside it, in the folder that it holds
        command.send_signal(signal.SIGTERM)
        assert command.wait(60) == 128 + signal.SIGTERM
        assert "stopped by SIGTERM" in command.communicate()[1]
    with pytest.raises(ProcessLookupError):
        os.kill(command.pid, 0)
    other = StartedCommand(done, folder, stdout=PIPE, stderr=subprocess.STDOUT)
    assert sorted(other.communicate(timeout=60)[0].splitlines()) == [b"goodbye", b"to stderr", b"to stdout"]
    assert other.returncode == 3
    killed = StartedCommand(waiting, folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    killed.send_signal(signal.SIGTERM)  # nobody is there


def test_what_python_reads_at_its_start(folder: Path) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    run_task(folder, environment=environment)
    expected = subprocess.run([sys.executable, "-c", "print(hash('moon'))"], env=environment, capture_output=True)
    assert json.loads((folder / "told.json").read_text())["hash"] == int(expected.stdout)


def test_no_plugin_and_nothing_that_acts_is_in_the_server() -> None:
    code = "import sys, threading, runpy; from importlib import import_module, metadata; import command_server\n"
    code += "for name in command_server.LIBRARIES: import_module(name)\n"
    code += "plugins = {point.module.partition('.')[0] for point in metadata.entry_points(group='convrag')}\n"
    code += "acting = {'torch', 'transformers', 'litellm', 'mlflow', 'spacy', 'faiss'}\n"
    code += "assert not (plugins | acting) & {*sys.modules}, (plugins | acting) & {*sys.modules}\n"
    code += "assert threading.active_count() == 1"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
