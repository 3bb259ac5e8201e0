"""What is written in the background: in order, bounded, with one warning, and no wait for whoever has it to write."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import pytest

from convrag_mlflow import background_writer
from convrag_mlflow.background_writer import BackgroundWriter


class Target:
    """Takes numbers once its gate is open; `broken` makes it raise."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.batches: list[list[int]] = []
        self.warnings: list[Exception | None] = []
        self.broken = False
        self.writer = BackgroundWriter[int](lambda: None, self.write, self.warnings.append)

    def write(self, batch: Sequence[int]) -> None:
        self.gate.wait(30)
        if self.broken:
            raise OSError("no space left")
        self.batches.append(list(batch))

    def add(self, *numbers: int) -> None:
        for number in numbers:
            self.writer.announce()
            self.writer.add(number)


def test_things_are_written_together_and_in_order() -> None:
    target = Target()
    target.add(*range(50))
    target.gate.set()
    assert target.writer.flush(30) == 0
    assert [number for batch in target.batches for number in batch] == list(range(50))
    assert max(map(len, target.batches)) == background_writer.BATCH
    assert target.warnings == []


def test_nobody_waits_for_a_target_that_hangs_and_what_does_not_fit_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_writer, "MOST", 5)
    target = Target()
    began = time.monotonic()
    target.add(0)
    while not target.writer._writing:
        time.sleep(0.001)
    target.add(*range(1, 10))
    assert target.writer.flush(0.05) == 6
    assert time.monotonic() - began < 5
    assert target.warnings == [None]
    target.gate.set()
    assert target.writer.flush(30) == 0
    assert [number for batch in target.batches for number in batch] == [0, 1, 2, 3, 4, 5]


def test_a_target_that_fails_is_told_of_once_and_tried_again() -> None:
    target = Target()
    target.gate.set()
    target.broken = True
    for number in range(3):
        target.add(number)
        assert target.writer.flush(30) == 0
    assert [str(error) for error in target.warnings] == ["no space left"]
    target.broken = False
    target.add(3)
    assert target.writer.flush(30) == 0
    assert target.batches == [[3]]


def test_the_end_waits_a_moment_for_what_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target()
    target.gate.set()
    target.writer.announce()
    threading.Timer(0.1, target.writer.add, [7]).start()
    assert target.writer.flush(30) == 0
    assert target.batches == [[7]]
    monkeypatch.setattr(background_writer, "UNFINISHED_SECONDS", 0.05)
    target.writer.announce()  # and never comes
    began = time.monotonic()
    assert target.writer.flush(30) == 0
    assert time.monotonic() - began < 5


def test_the_end_of_a_process_tells_of_what_is_not_written_and_waits_but_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_writer, "PROGRAM_SECONDS", 0.05)
    target = Target()
    target.add(0)
    target.writer._finish()
    assert [str(error) for error in target.warnings] == ["1 were not written in 0 s"]
    monkeypatch.setattr(background_writer, "PROGRAM_SECONDS", 60)
    began = time.monotonic()
    target.writer._finish()
    assert time.monotonic() - began < 5
    target.gate.set()


def test_nothing_is_waited_for_where_nothing_was_added() -> None:
    connecting = threading.Event()
    writer = BackgroundWriter[int](lambda: connecting.wait(30), lambda batch: None, lambda error: None)
    writer.start()
    assert writer.flush(30) == 0
    connecting.set()


PROGRAM = """
import sys, time
from convrag_mlflow.background_writer import BackgroundWriter

def connect():  # as MLflow does, when the main thread has ended already
    time.sleep(1)
    import concurrent.futures.process
    import concurrent.futures.thread
    with concurrent.futures.ThreadPoolExecutor() as threads:
        pass

writer = BackgroundWriter(connect, lambda batch: print(*batch), lambda error: print("warning:", error))
writer.announce()
writer.add("the last turn")
"""


def test_a_program_that_ends_while_libraries_are_imported_waits_for_what_it_has_added() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the last turn\n", "")
