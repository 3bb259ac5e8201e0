"""Conversations for hours with a faulty server: memory and threads stay flat.

    CONVRAG_SOAK=7200 python -m pytest benchmarks/speed/test_soak.py -n 0 -s

Four systems answer in turns, eight conversations side by side, in one process; the server is
another one, and a fifth of its replies are faults. Each question is new, so nothing is reused.
Without CONVRAG_SOAK it takes two minutes, which finds only what leaks fast.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

import faulty_server
from convrag import Pipeline
from convrag.turn.conversations import Conversations

pytest.importorskip("litellm")
pytestmark = pytest.mark.integration

SECONDS = float(os.environ.get("CONVRAG_SOAK", "120"))
PAUSE = float(
    os.environ.get("CONVRAG_SOAK_PAUSE", "0")
)  # seconds between rounds, on a machine that has other work
AT_ONCE = 8
TURNS = 5
SYSTEMS = (
    ("+seed=condense",),
    ("+seed=dhrag", "generator=direct"),
    ("+seed=ragboost", "rewriter=mmr", "generator=chat"),
    ("rewriter=blend", "generator=ginger", "detector=llm"),
)


class Measured(NamedTuple):
    """Count what this process holds."""

    seconds: float
    turns: int
    megabytes: float
    descriptors: int
    threads: int


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a server in another process."""
    command = [sys.executable, str(Path(faulty_server.__file__))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http")
        yield address
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def measure(began: float, turns: int) -> Measured:
    """Measure this process, from /proc."""
    status = Path("/proc/self/status").read_text()
    kilobytes = int(status.partition("VmRSS:")[2].split()[0])
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    return Measured(
        time.monotonic() - began, turns, kilobytes / 1024, descriptors, threading.active_count()
    )


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="it reads Linux's /proc")
def test_memory_descriptors_and_threads_stay_flat(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    caplog.set_level("CRITICAL")  # pytest keeps the others, which would look like a leak
    model = [
        "llm=openai_compatible",
        "llm.model=openai/x",
        f"llm.api_base={address}",
        "llm.timeout=4",
        "llm.retries=1",
    ]
    common = [*model, f"store.path={tmp_path / 'store'}"]
    pipelines = [
        Pipeline.compose(
            *system, *common, conversations=Conversations(tmp_path / f"{number}.db", limit=50)
        )
        for number, system in enumerate(SYSTEMS)
    ]
    began, turns, answered, samples, sampled = time.monotonic(), 0, 0, [], 0.0

    def talk(number: int) -> int:
        pipeline = pipelines[number % len(pipelines)]
        questions = [
            f"How far away is moon {number}.{turn}, and is it {random.random()}?"
            for turn in range(TURNS)
        ]
        return sum(not pipeline.turn(f"c{number}", question).error for question in questions)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        number = 0
        while (elapsed := time.monotonic() - began) < SECONDS:
            answered += sum(pool.map(talk, range(number, number + AT_ONCE)))
            number += AT_ONCE
            turns += AT_ONCE * TURNS
            if elapsed - sampled >= SECONDS / 60:
                sampled = elapsed
                samples.append(measure(began, turns))
                sys.stdout.write(f"{json.dumps(samples[-1]._asdict())}\n")
            time.sleep(PAUSE)
    sys.stdout.write(f"{answered} of {turns} turns answered\n")
    assert turns / 2 < answered < turns, "the server fails too often, or never"
    middle, end = (
        samples[len(samples) * a // 6 : len(samples) * b // 6] for a, b in ((2, 4), (4, 6))
    )
    for name, allowed in (("megabytes", 1.05), ("descriptors", 1.1), ("threads", 1.1)):
        before, after = (
            statistics.median(getattr(each, name) for each in part) for part in (middle, end)
        )
        sys.stdout.write(
            f"{name}: {before:.0f} in the second third, {after:.0f} in the last ({after / before:.3f})\n"
        )
        assert after <= before * allowed, f"{name} grow"
