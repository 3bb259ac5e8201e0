"""A folder is written by one process at a time."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from convrag.api.errors import ConvragError, FolderInUse
from convrag.concurrency import locks
from convrag.concurrency.locks import FOLDER_LOCK, hold_folder
from processes import process_that_holds

HOLD = """
import sys, time
from pathlib import Path
from convrag.concurrency.locks import hold_folder
with hold_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""

FORK = "f\"{__import__('os').fork()}\\n\", end=''"
"""Printed in one piece by both: by the parent the child's process id, by the child 0."""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the folder."""
    with process_that_holds(HOLD, tmp_path) as process:
        yield process


def hold(folder: Path) -> None:
    with hold_folder(folder):
        pass


def in_another_thread(folder: Path) -> None:
    with ThreadPoolExecutor(1) as other:
        other.submit(hold, folder).result()


def test_a_second_holder_is_told_who_the_first_is(tmp_path: Path) -> None:
    with hold_folder(tmp_path / "deep/run"):
        with pytest.raises(FolderInUse, match=f"process {os.getpid()} on .*, since 2.*\\. Wait"):
            in_another_thread(tmp_path / "deep/run")
        in_another_thread(tmp_path / "other")
    in_another_thread(tmp_path / "deep/run")
    assert list((tmp_path / "deep/run").iterdir()) == []
    assert issubclass(FolderInUse, ConvragError)


def test_the_thread_that_holds_a_folder_may_hold_it_again(tmp_path: Path) -> None:
    with hold_folder(tmp_path):
        hold(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [FOLDER_LOCK]
        with pytest.raises(FolderInUse):
            in_another_thread(tmp_path)


@pytest.mark.slow
def test_a_holder_is_waited_for_where_that_is_wanted(
    holder: subprocess.Popen[str], tmp_path: Path
) -> None:
    def wait() -> None:
        with hold_folder(tmp_path, wait=True):
            pass

    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(wait)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.5)
        holder.kill()
        waiting.result(timeout=30)


@pytest.mark.slow
def test_what_a_killed_process_held_is_free(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    with pytest.raises(FolderInUse, match=f"process {holder.pid} on"):
        hold(tmp_path)
    holder.kill()
    holder.wait()
    assert (tmp_path / FOLDER_LOCK).exists(), "nobody was there to remove it"
    with hold_folder(tmp_path), pytest.raises(FolderInUse, match=f"process {os.getpid()} on"):
        in_another_thread(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_child_neither_has_its_parents_folder_nor_keeps_it(tmp_path: Path) -> None:
    """If a killed process has forked a child, the system would keep the lock until the child has
    ended, too.
    """
    program = HOLD.replace('"held"', FORK).replace("600", "60")
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        child = max(int(holder.stdout.readline()) for _ in range(2))
        try:
            with pytest.raises(FolderInUse, match=f"process {holder.pid} on"):
                hold(tmp_path)
            holder.kill()
            holder.wait()
            with (
                hold_folder(tmp_path),
                pytest.raises(FolderInUse, match=f"process {os.getpid()} on"),
            ):
                in_another_thread(tmp_path)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_file_system_without_locks_costs_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    monkeypatch.setattr(locks, "_warned", set())
    for _ in range(2):
        with hold_folder(tmp_path / "run"), hold_folder(tmp_path / "run", wait=True):
            pass
    (message,) = caplog.messages
    assert message.startswith(
        f"{tmp_path / 'run'} cannot be locked (No locks available): two processes may"
    )
