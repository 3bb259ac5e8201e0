"""Runs `python -m convrag` for the tests."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO

_one_at_a_time = Lock()


def run_convrag(
    arguments: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    stdin: str = "",
    libraries: tuple[str, ...] = (),
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m convrag` in a folder, in a new process that need not import the libraries that most runs use.

    The process is forked from one that has imported them and done nothing else (command_server.py). There is one for
    each choice of libraries and of Python's own variables. What a library reads from the environment when it is
    imported is that of the first such command; a test of that starts a process of its own.

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
    variables = dict(os.environ if environment is None else environment)
    python = tuple(sorted((k, v) for k, v in variables.items() if k.startswith("PYTHON") and k != "PYTHONPATH"))
    command = ["convrag", *arguments]
    request = {"arguments": [*arguments], "folder": str(folder), "environment": variables}
    with (
        _one_at_a_time,
        TemporaryFile() as asked,
        TemporaryFile() as given,
        TemporaryFile() as out,
        TemporaryFile() as err,
    ):
        _fill(asked, json.dumps(request))
        _fill(given, stdin)
        try:
            status = _run(_server(libraries, python), [file.fileno() for file in (asked, given, out, err)], timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired(command, timeout, _text(out), _text(err)) from None
        except BaseException:  # what the server has still to say must not answer the next request
            _server.cache_clear()
            raise
        return subprocess.CompletedProcess(command, status, _text(out), _text(err))


def _fill(file: IO[bytes], text: str) -> None:
    file.write(text.encode())
    file.seek(0)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _run(server: socket.socket, files: Sequence[int], timeout: float) -> int:
    socket.send_fds(server, [b"\0"], files)
    process = _number(server)
    if not select.select([server], [], [], timeout)[0]:
        os.kill(process, signal.SIGKILL)
        _number(server)
        raise TimeoutError
    return _number(server)


def _number(server: socket.socket) -> int:
    if len(received := server.recv(4, socket.MSG_WAITALL)) < 4:
        raise RuntimeError("the server of tests/command_server.py has ended")
    return int.from_bytes(received, signed=True)


@cache
def _server(libraries: tuple[str, ...], python: tuple[tuple[str, str], ...]) -> socket.socket:
    """A connection to a process that forks; both end with this process."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ours, theirs = socket.socketpair()
    with theirs:
        program = Path(__file__).with_name("command_server.py")
        number = theirs.fileno()
        command = [sys.executable, str(program), str(number), *libraries]
        process = subprocess.Popen(command, env=others | dict(python), pass_fds=[number], stdin=subprocess.DEVNULL)
    atexit.register(lambda: (ours.close(), process.wait()))
    return ours
