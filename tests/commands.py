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
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m convrag` in a folder, in a new process that need not import the libraries that most runs use.

    The process is forked from one that has imported them and done nothing else (command_server.py). What Python or a
    library reads from the environment as it starts was read there; a test of that starts a process of its own.

    Args:
        arguments: of the command.
        folder: in which it runs; modules in it can be imported.
        environment: all its variables, PYTHONPATH included; by default this process's.
        stdin: its standard input.
        timeout: seconds after which it is killed.

    Returns:
        Its exit status (a signal's number is negative), standard output and standard error.

    Raises:
        ValueError: a variable of Python's own would have no effect.
        subprocess.TimeoutExpired: it took longer.
    """
    variables = dict(os.environ if environment is None else environment)
    for name in _ignored(variables):
        raise ValueError(f"{name} is read when Python starts: use subprocess.run")
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
            status = _run([file.fileno() for file in (asked, given, out, err)], timeout)
        except BaseException as error:  # whatever it has still to say must not answer the next request
            _server.cache_clear()
            if isinstance(error, TimeoutError):
                raise subprocess.TimeoutExpired(command, timeout, _text(out), _text(err)) from None
            raise
        return subprocess.CompletedProcess(command, status, _text(out), _text(err))


def _ignored(variables: Mapping[str, str]) -> list[str]:
    """Python's variables that the server has otherwise."""
    names = {name for name in {*variables, *os.environ} if name.startswith("PYTHON")} - {"PYTHONPATH"}
    return sorted(name for name in names if variables.get(name) != os.environ.get(name))


def _fill(file: IO[bytes], text: str) -> None:
    file.write(text.encode())
    file.seek(0)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _run(files: Sequence[int], timeout: float) -> int:
    server = _server()
    socket.send_fds(server, [b"\0"], files)
    process = _number(server)
    if not select.select([server], [], [], timeout)[0]:
        os.kill(process, signal.SIGKILL)
        raise TimeoutError
    return _number(server)


def _number(server: socket.socket) -> int:
    if len(received := server.recv(4, socket.MSG_WAITALL)) < 4:
        raise RuntimeError("the server of tests/command_server.py has ended")
    return int.from_bytes(received, signed=True)


@cache
def _server() -> socket.socket:
    """A connection to the process that forks; both end with this process."""
    ours, theirs = socket.socketpair()
    with theirs:
        program = Path(__file__).with_name("command_server.py")
        number = theirs.fileno()
        process = subprocess.Popen(
            [sys.executable, str(program), str(number)], pass_fds=[number], stdin=subprocess.DEVNULL
        )
    atexit.register(lambda: (ours.close(), process.wait()))
    return ours
