"""Measured programs: each runs in a process of its own, and its libraries in one thread."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PEERS = Path(__file__).parent / "peers"

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def run_peer(
    python: Path, program: str, *arguments: object, seconds: float = 1800
) -> dict[str, Any]:
    """Run peers/<program>.py and return the JSON of its last line.

    Args:
        python: the interpreter of its environment.
        program: the file's name without its ending.
        arguments: of the program.
        seconds: after which it is ended.
    """
    command = [str(python), str(PEERS / f"{program}.py"), *map(str, arguments)]
    said = run(command, seconds=seconds)["stdout"]
    measured: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
    return measured


def run(command: Sequence[str], cwd: Path | None = None, seconds: float = 1800) -> dict[str, Any]:
    """Run a command to its end: its output, and its seconds of the processor and the clock.

    The processor's seconds include those of its children.
    """
    environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "HF_HUB_OFFLINE": "1"}
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    took, after = time.perf_counter() - start, os.times()
    if done.returncode != 0:
        raise SystemExit(
            f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-3000:]}"
        )
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return {"stdout": done.stdout, "cpu_s": round(cpu, 3), "wall_s": round(took, 3)}
