"""A folder has one store in a process, which threads, processes and forked children use side by
side.
"""

import os
import shutil
import signal
import sqlite3
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from convrag.store.store import FILE, Store, get_store
from processes import run_in_child


def count_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def test_a_folder_has_one_store_while_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    together = threading.Barrier(8)

    def get(_: int) -> Store:
        together.wait()
        return get_store(tmp_path / "store")

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(get, range(8))
    assert all(store is first for store in others)
    monkeypatch.chdir(tmp_path)
    assert get_store("store") is get_store(tmp_path / "link" / "store") is first
    assert get_store(tmp_path / "other") is not first
    unused = weakref.ref(first)
    del first, others
    assert unused() is None


def test_stores_that_are_no_longer_used_are_closed(tmp_path: Path) -> None:
    before = count_descriptors()
    for number in range(50):
        store = get_store(tmp_path / str(number))
        store.put("test", {"key": b"value"})
        with store.lock(["key"]):
            assert get_store(tmp_path / str(number)).get(["key"]) == {"key": b"value"}
        assert count_descriptors() <= before + 4
    del store
    assert count_descriptors() == before


def test_a_store_that_was_deleted_is_made_anew(tmp_path: Path) -> None:
    store = get_store(tmp_path / "store")
    store.put("test", {"old": b"1"})
    shutil.rmtree(tmp_path / "store")
    store.open()
    store.put("test", {"new": b"2"})
    assert store.get(["old", "new"]) == {"new": b"2"}
    with sqlite3.connect(tmp_path / "store" / FILE) as database:
        assert database.execute("SELECT key FROM entries").fetchall() == [("new",)]
    database.close()


@pytest.mark.slow
def test_a_child_writes_whatever_its_parents_threads_did_when_it_was_forked(tmp_path: Path) -> None:
    """SQLite's own locks are copied by a fork: one that a writing thread had would be held in the
    child for ever.
    """
    store = Store(tmp_path / "store")
    stop = threading.Event()

    def write(name: str) -> None:
        for number in count():
            store.put("test", {f"{name}{number}": b"x" * 5000})
            if stop.is_set():
                return

    threads = [threading.Thread(target=write, args=[name]) for name in "ab"]
    for thread in threads:
        thread.start()
    try:
        for number in range(30):
            time.sleep(0.003 * (number % 5))
            child = run_in_child(lambda number=number: store.put("test", {f"child {number}": b"x"}))
            deadline = time.monotonic() + 60
            while (ended := os.waitpid(child, os.WNOHANG)) == (
                0,
                0,
            ) and time.monotonic() < deadline:
                time.sleep(0.01)
            if ended == (0, 0):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            assert ended[0] == child, "the child waits for a lock that nobody has"
            assert ended[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(store.get(f"child {number}" for number in range(30))) == 30


@pytest.mark.slow
def test_a_child_keeps_what_it_writes_after_its_parent_has_ended(tmp_path: Path) -> None:
    """The last one to close a database removes its log: the child must count as one that has it
    open.
    """
    store = Store(tmp_path / "store")
    store.put("test", {"parent": b"1"})
    reader, writer = os.pipe()

    def write() -> None:
        store.put("test", {"child": b"2"})
        os.write(writer, b"1")
        time.sleep(0.5)
        store.put("test", {"late": b"3"})
        os._exit(0)  # without closing anything

    child = run_in_child(write)
    os.read(reader, 1)
    store.entries._disconnect()
    assert os.waitpid(child, 0)[1] == 0
    assert len(Store(tmp_path / "store").get(["parent", "child", "late"])) == 3
    for end in (reader, writer):
        os.close(end)
