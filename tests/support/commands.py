"""Runs `python -m convrag` for the tests."""

from __future__ import annotations

import atexit
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any

LIBRARIES = (
    *(
        "alembic.command",
        "fastapi",
        "httptools",
        "litellm",
        "mlflow",
        "mlflow.store.tracking.sqlalchemy_store",
    ),
    *(
        "prometheus_client",
        "prompt_toolkit.shortcuts",
        "rich.markdown",
        "sqlalchemy.dialects.sqlite",
        "uvicorn",
    ),
    "uvloop",
)
"""What LLMs, MLflow, a chat or a server need beside the libraries of most runs: one process has
them for all.
"""

_one_at_a_time = Lock()


def drop_progress(stderr: str) -> str:
    """What a command said, without the lines that a busy machine adds ("Preparing embedder=lsa: 10
    s so far").
    """
    return re.sub(
        r"^convrag: .*( so far.*| after \d+ (s|min)(, about .* left)?)\n",
        "",
        stderr,
        flags=re.MULTILINE,
    )


def run_convrag(
    arguments: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    stdin: str = "",
    libraries: tuple[str, ...] = (),
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m convrag` in a folder, in a new process that need not import the libraries that
    most runs use.

    The process is forked from one that has imported them and done nothing else (command_server.py).
    There is one for each choice of libraries and of Python's own variables, but for
    PYTHONWARNINGS=ignore. What a library reads from the environment when it is imported is that of
    the first such command; a test of that starts a process of its own.

    Args:
        arguments: of the command.
        folder: in which it runs; modules in it can be imported.
        environment: all its variables, PYTHONPATH included; by default this process's.
        stdin: its standard input.
        libraries: modules that it will import beside those of most runs, and finds imported.
        timeout: seconds after which it is killed.

    Returns:
        Its exit status (a signal's number is negative), standard output and standard error.

    Raises:
        subprocess.TimeoutExpired: it took longer.
    """
    pipe = subprocess.PIPE
    files = {"stdin": pipe, "stdout": pipe, "stderr": pipe}
    command = StartedCommand(
        arguments, folder, environment=environment, libraries=libraries, text=True, **files
    )
    out, err = command.communicate(stdin, timeout)
    return subprocess.CompletedProcess(command.args, command.returncode or 0, out, err)


class StartedCommand:
    """`python -m convrag` in a process that goes on beside the test, forked as `run_convrag` does it.

    It has the attributes and methods of subprocess.Popen that tests use; what is said there of
    those holds here.

    Args:
        arguments: of the command.
        folder: in which it runs.
        environment: all its variables; by default this process's.
        libraries: see `run_convrag`. stdin, stdout, stderr: a file, or PIPE, DEVNULL or STDOUT of
        subprocess, or None for this process's own. session: whether it leads a session and a
        process group of its own. terminal: whether its standard input is a terminal that it gets
        for its own. text: whether pipes are of text. code: what is run in place of the command, as
        by `python -P -c`.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        libraries: tuple[str, ...] = (),
        stdin: IO[Any] | int | None = subprocess.DEVNULL,
        stdout: IO[Any] | int | None = None,
        stderr: IO[Any] | int | None = None,
        session: bool = False,
        terminal: bool = False,
        text: bool = False,
        code: str = "",
    ) -> None:
        variables = dict(os.environ if environment is None else environment)
        self.args = ["convrag", *arguments]
        self.returncode: int | None = None
        self.stdin = self.stdout = self.stderr = None
        with TemporaryFile() as asked, ExitStack() as given:
            own = session or terminal
            _fill(
                asked,
                _describe(arguments, folder, variables, session=own, terminal=terminal, code=code),
            )
            self.stdin, first = _open_end(stdin, 0, given, text=text)
            self.stdout, second = _open_end(stdout, 1, given, text=text)
            self.stderr, third = (
                (None, second)
                if stderr == subprocess.STDOUT
                else _open_end(stderr, 2, given, text=text)
            )
            self._ending, told = os.pipe()
            given.callback(os.close, told)
            with _one_at_a_time:
                server = _server(libraries, _of_python(variables))
                socket.send_fds(server, [b"\0"], [asked.fileno(), first, second, third, told])
        self.pid = self._read()

    def _read(self) -> int:
        if len(number := os.read(self._ending, 4)) < 4:
            raise RuntimeError("the process that waits for a command has ended")
        return int.from_bytes(number, signed=True)

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not _can_be_read(self._ending, timeout):
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = self._read()
            os.close(self._ending)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, given: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        with ThreadPoolExecutor() as threads:
            writing = threads.submit(self._write, given)
            reading = [
                stream and threads.submit(stream.read) for stream in (self.stdout, self.stderr)
            ]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            writing.result()
            out, err = (each and each.result() for each in reading)
        self._close()
        return out, err

    def _write(self, given: Any) -> None:
        if self.stdin and not self.stdin.closed:
            with suppress(BrokenPipeError):
                if given:
                    self.stdin.write(given)
                self.stdin.close()

    def _close(self) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream:
                with suppress(BrokenPipeError):
                    stream.close()

    def __del__(self) -> None:
        self._close()  # a test that only waits leaves the pipes to this

    def __enter__(self) -> StartedCommand:
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()
        self.wait()


def _open_end(
    file: IO[Any] | int | None, number: int, given: ExitStack, *, text: bool
) -> tuple[IO[Any] | None, int]:
    """Our end of a pipe, where there is to be one, and the command's file."""
    if file is None:
        return None, number
    if file == subprocess.DEVNULL:
        return None, given.enter_context(open(os.devnull, "r+b")).fileno()  # noqa: PTH123
    if file != subprocess.PIPE:
        return None, file if isinstance(file, int) else file.fileno()
    reading, writing = os.pipe()
    ours, theirs = (writing, reading) if number == 0 else (reading, writing)
    given.callback(os.close, theirs)
    mode = ("w" if number == 0 else "r") + ("" if text else "b")
    return os.fdopen(ours, mode, buffering=1 if text else -1, newline="" if text else None), theirs


def _describe(
    arguments: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    *,
    session: bool = False,
    terminal: bool = False,
    code: str = "",
) -> str:
    request = {"arguments": [*arguments], "folder": str(folder), "environment": variables}
    return json.dumps({**request, "session": session, "terminal": terminal, "code": code})


def _of_python(variables: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The variables that Python itself reads at its start."""
    later = {
        "PYTHONPATH": variables.get("PYTHONPATH"),
        "PYTHONWARNINGS": "ignore",
    }  # what a forked process reads
    return tuple(
        sorted((k, v) for k, v in variables.items() if k.startswith("PYTHON") and later.get(k) != v)
    )


def _fill(file: IO[bytes], text: str) -> None:
    file.write(text.encode())
    file.seek(0)


def _can_be_read(file: int, timeout: float | None) -> bool:
    """Whether a file can be read within so many seconds; select() knows no file beyond the 1024th."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    return bool(waiting.poll(None if timeout is None else 1000 * timeout))


@cache
def _server(libraries: tuple[str, ...], python: tuple[tuple[str, str], ...]) -> socket.socket:
    """A connection to a process that forks; both end with this process."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ours, theirs = socket.socketpair()
    with theirs:
        program = Path(__file__).with_name("command_server.py")
        number = theirs.fileno()
        command = [sys.executable, str(program), str(number), *libraries]
        process = subprocess.Popen(
            command, env=others | dict(python), pass_fds=[number], stdin=subprocess.DEVNULL
        )
    atexit.register(lambda: (ours.close(), process.wait()))
    return ours


NEURAL = ("torch", "transformers", "sentence_transformers")
OF_TESTS = ("elasticsearch", "hypothesis.strategies", "jsonschema", "litellm", "pytest")
"""What modules of tests import, beside what is in tests/support/command_server.py."""


def fork_python(code: str, environment: dict[str, str]) -> StartedCommand:
    """Start Python with some code, as convrag.testing.new_process does, in a process that has
    imported libraries.

    Those of models and of modules of tests are imported where this process has imported them.
    """
    libraries = tuple(name for name in (*OF_TESTS, *NEURAL) if name in sys.modules)
    pipe = subprocess.PIPE
    return StartedCommand(
        [],
        Path.cwd(),
        environment=environment,
        libraries=libraries,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        code=code,
    )


def convrag(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, without MLflow."""
    return run_convrag([*arguments, "tracker=none"], folder)


def run_folders(folder: Path) -> list[Path]:
    """The folders of the runs that were made in a folder, oldest first."""
    return sorted(folder.glob("outputs/2*/*"))
