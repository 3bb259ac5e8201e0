"""Runs a function in a child process with limits of memory and time, and says how it ended."""

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_NO_MEMORY = 41
_FAILED = 42


class Ending(NamedTuple):
    """How a child process ended.

    Args:
        kind: "ok", "memory" (there was not enough), "time" (it took too long), "error" (it raised
            something), or "crash" (a signal ended it).
        details: what it raised, or the signal.
        megabytes: by which its memory grew at most.
    """

    kind: str
    details: str = ""
    megabytes: float = 0.0


def run_limited(function: Callable[[], object], *, megabytes: int, seconds: int) -> Ending:
    """Call a function in a fork of this process, which must have one thread.

    Args:
        function: what it returns is lost.
        megabytes: by which the address space of the child may grow.
        seconds: of processor time; twenty times as many may pass.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_child(function, writing, megabytes, seconds)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        details = pipe.read().decode("utf-8", "replace")
    _, status, used = os.wait4(child, 0)
    return _describe(status, details, used.ru_maxrss / 1024 - _read_status("VmRSS"))


def _run_child(function: Callable[[], object], writing: int, megabytes: int, seconds: int) -> None:
    """Call the function with the limits set, and leave the process."""
    status = 0
    try:
        limit = int((_read_status("VmSize") + megabytes) * 1024 * 1024)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20 * seconds)
        function()
    except MemoryError:
        status = _NO_MEMORY
    except BaseException as error:
        status = _FAILED
        place = "".join(traceback.format_tb(error.__traceback__)[-3:])
        os.write(writing, f"{type(error).__name__}: {error}\n{place}".encode("utf-8", "replace"))
    sys.stdout.flush()
    os._exit(status)


def _describe(status: int, details: str, megabytes: float) -> Ending:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        is_late = number in (signal.SIGXCPU, signal.SIGALRM)
        kind = "time" if is_late else "crash"
        return Ending(kind, signal.Signals(number).name, megabytes)
    code = os.WEXITSTATUS(status)
    kinds = {0: "ok", _NO_MEMORY: "memory", _FAILED: "error"}
    return Ending(kinds.get(code, "crash"), details, megabytes)


def _read_status(name: str) -> float:
    """Read a size of this process, in MB."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(name)
