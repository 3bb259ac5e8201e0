"""Processes that a test starts: one that holds something, and a forked child."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def process_that_holds(program: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a program that is given the folder, and prints "held" when it holds something in it; kill
    it at the end.
    """
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def run_in_child(work: Callable[[], object]) -> int:
    """Fork a child that does some work, or is killed after a minute; return its process id.

    Its exit status is 0, or 1 if the work raises an error.
    """
    if (child := os.fork()) != 0:
        return child
    status = 1
    try:
        signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # a shell's background job is told to ignore it
        signal.alarm(60)
        work()
        status = 0
    finally:
        os._exit(status)
