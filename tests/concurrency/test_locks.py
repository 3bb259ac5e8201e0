"""Locks by key: across threads, processes and forks, and where there are none."""

import errno
import fcntl
import os
import signal
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from convrag.concurrency import locks
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.concurrency.locks import LOCK_FILE, get_locks, hold_folder
from processes import process_that_holds, run_in_child

HOLD = """
import sys, time
from pathlib import Path
from convrag.concurrency.locks import get_locks
with get_locks(Path(sys.argv[1])).lock_keys(["key"]):
    print("held", flush=True)
    time.sleep(60)
"""

"""Printed in one piece by both: by the parent the child's process id, by the child 0."""

needs_ofd = pytest.mark.skipif(
    not hasattr(fcntl, "F_OFD_SETLKW"), reason="this system has POSIX locks only"
)


_waiting: list[threading.Thread] = []
"""The threads that a test's `is_free` has started."""


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test knows of another's warnings, and none leaves a thread that may give one."""
    monkeypatch.setattr(locks, "_warned", set())
    yield
    while _waiting:
        _waiting.pop().join(60)


def wait_for(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def take(folder: Path, key: str = "key", seconds: float = 0.0) -> None:
    with get_locks(folder).lock_keys([key]):
        time.sleep(seconds)


def is_free(folder: Path, key: str = "key") -> bool:
    """Whether a thread can lock the key within half a second; it waits for it in any case."""
    thread = threading.Thread(target=take, args=[folder, key], daemon=True)
    thread.start()
    _waiting.append(thread)
    thread.join(0.5)
    return not thread.is_alive()


def test_a_folder_has_one_object_while_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    first = get_locks(tmp_path)
    assert get_locks(tmp_path / "link") is first
    with get_locks(tmp_path / "other" / "..").lock_keys(["key"]):
        assert not is_free(tmp_path)
    unused = weakref.ref(first)
    del first
    deadline = time.monotonic() + 60
    while (
        unused() is not None and time.monotonic() < deadline
    ):  # a thread of is_free() still uses it
        time.sleep(0.01)
    assert unused() is None


def test_many_folders_and_keys_leave_no_descriptor_open(tmp_path: Path) -> None:
    def count_open() -> int:
        links = (Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
        return sum(
            str(link.readlink()).startswith(str(tmp_path)) for link in links if link.is_symlink()
        )

    for number in range(100):
        (folder := tmp_path / str(number)).mkdir()
        with get_locks(folder).lock_keys(map(str, range(500))):
            assert count_open() == 1
    assert count_open() == 0


@pytest.mark.slow
@needs_ofd
def test_a_block_that_is_copied_into_a_child_does_not_free_the_parents_key(tmp_path: Path) -> None:
    with get_locks(tmp_path).lock_keys(["key"]):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
    if child == 0:  # it has left the block, too
        take(tmp_path, "other")
        os._exit(0)
    with get_locks(tmp_path).lock_keys(["key"]):
        assert wait_for(child) == 0
        assert not is_free(tmp_path)
    with process_that_holds(HOLD, tmp_path) as other:
        assert not is_free(tmp_path)
        other.kill()


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["creation_lock", "a lock's guard"])
def test_a_guard_that_another_thread_holds_is_free_in_a_child(guard: str, tmp_path: Path) -> None:
    held: Any = locks.creation_lock if guard == "creation_lock" else get_locks(tmp_path)._guard
    own = get_locks(tmp_path)
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with held:
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    threading.Timer(0.3, leave.set).start()  # the fork waits for it
    assert wait_for(run_in_child(lambda: take(tmp_path))) == 0
    thread.join()
    with own.lock_keys(["key"]):
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK])
def test_a_file_system_without_locks_costs_one_warning(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.fcntl", refuse)
    monkeypatch.setattr("fcntl.lockf", refuse)
    with get_locks(tmp_path).lock_keys(["a", "b", "key"]):
        assert not is_free(tmp_path), "threads wait for each other all the same"
    assert caplog.messages == [
        f"{tmp_path} cannot be locked ({os.strerror(number)}): two processes may compute the same result, or write the "
        "same files"
    ]


def test_a_folder_that_was_removed_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A store that is deleted under a running server, say: the key is locked against other
    processes still.
    """
    folder = tmp_path / "store" / "of mine"
    with get_locks(folder).lock_keys(["key"]):
        assert (folder / LOCK_FILE).exists()
    assert not caplog.records


def test_without_fcntl_threads_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(locks, "fcntl", None)
    with get_locks(tmp_path).lock_keys(["key"]):
        assert not is_free(tmp_path)
    assert len(caplog.messages) == 1
    assert "cannot be locked (this system has no fcntl): two processes may" in caplog.text


@pytest.mark.slow
def test_a_wait_ends_where_it_is_cancelled(tmp_path: Path) -> None:
    """For another thread, and for another process."""
    cancellation, told = Cancellation(), list[str]()

    def wait() -> None:
        try:
            with cancellation.apply():
                take(tmp_path)
            told.append("locked")
        except Cancelled:
            told.append("cancelled")

    with get_locks(tmp_path).lock_keys(["key"]):
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)
        cancellation.cancel()
        thread.join(30)
    with process_that_holds(HOLD, tmp_path) as other:
        cancellation = Cancellation()
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)
        cancellation.cancel()
        thread.join(30)
        other.kill()
    assert told == ["cancelled", "cancelled"]
    take(tmp_path)


def test_a_wait_for_a_folder_ends_where_it_is_cancelled(tmp_path: Path) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with ThreadPoolExecutor(1) as other, hold_folder(tmp_path):

        def wait() -> None:
            with cancellation.apply(), hold_folder(tmp_path, wait=True):
                pass

        with pytest.raises(Cancelled):
            other.submit(wait).result(60)
