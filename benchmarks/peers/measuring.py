"""Measurement of programs: processor time, memory, and the answer as JSON."""

import json
import sys
import time
from pathlib import Path
from typing import Any


def read_peak_mib() -> float:
    """The largest resident size of this process so far (Linux), in MiB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1024, 1)


class Clock:
    """Seconds of the processor and of the clock since it was made."""

    def __init__(self) -> None:
        self._start = time.process_time(), time.perf_counter()

    def read(self, name: str) -> dict[str, float]:
        """Both, as `<name>_cpu_s` and `<name>_wall_s`."""
        cpu, wall = time.process_time() - self._start[0], time.perf_counter() - self._start[1]
        return {f"{name}_cpu_s": round(cpu, 4), f"{name}_wall_s": round(wall, 4)}


def read_jsonl(path: str) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    with Path(path).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def answer(measured: dict[str, Any]) -> None:
    """Print the result as the last line, where run.py looks for it."""
    sys.stdout.write(json.dumps(measured) + "\n")
