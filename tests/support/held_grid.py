"""A grid over a cluster whose calls in flight hang until the test lets them go on."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from killing import Grid

PLAIN = (
    *(
        "generator=direct",
        "tracker=none",
        "report=false",
        "limit=1",
        "metrics.ranking.measures=[nDCG@5]",
        "workers=1",
    ),
)
"""Overrides of a grid that is about its cells alone."""


@contextmanager
def started(
    grid: Grid, ready: Callable[[], bool], seconds: float = 60
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a grid, and wait until it is ready with a call in flight, which hangs until the test
    calls `let_go`.

    Args:
        grid: is started as a process of its own (`itself=True`).
        ready: whether as many of its cells run as the test wants.
        seconds: within which it must be ready.
    """
    (grid.folder / "hold").touch()
    process = grid.start()
    assert isinstance(process, subprocess.Popen)
    try:
        wait_until(lambda: process.poll() is not None or (grid.asked() > 0 and ready()), seconds)
        assert process.poll() is None, (grid.folder / "out.txt").read_text()
        yield process
    finally:
        let_go(grid)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def let_go(grid: Grid) -> None:
    """Let the calls in flight go on."""
    (grid.folder / "hold").unlink(missing_ok=True)


def wait_until(reached: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until this holds; fail where it takes longer."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def read_states(grid: Grid) -> list[str]:
    """How each cell of the grid ended, sorted."""
    (found,) = grid.folder.glob("outputs/sweeps/*/sweep.json")
    return sorted(cell["state"] for cell in json.loads(found.read_text())["cells"])
