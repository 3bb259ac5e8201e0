"""What the store promises, with SQLite and with PostgreSQL: values, locks, kills, forks, threads,
damage.
"""

import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.concurrency.locks import get_locks
from convrag.registry.plugins import open_database
from convrag.store.remember import remember
from convrag.store.store import FILE, Store
from convrag.testing import make_prompt
from processes import run_in_child

BACKENDS = [
    "sqlite",
    pytest.param("postgresql", marks=[pytest.mark.cluster, pytest.mark.integration]),
]


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest) -> str:
    """The address of an empty database; empty for SQLite's file."""
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres").make_schema()


@pytest.fixture
def open_store(url: str, tmp_path: Path) -> Callable[[], Store]:
    return lambda: Store(tmp_path / "deep" / "store", url, open_database)


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


@contextmanager
def child_with_key(store: Store, *, forks: bool = False) -> Iterator[int]:
    """A forked process that holds the key, and may have forked a child of its own then; kill them
    at the end.
    """
    reader, writer = os.pipe()
    parent = os.getpid()

    def hold() -> None:
        with store.lock(["key"]):
            grandchild = os.fork() if forks else 0
            if grandchild or not forks:
                os.write(writer, f"{grandchild}\n".encode())
            time.sleep(60)

    child = run_in_child(hold)
    assert os.getpid() == parent
    grandchild = int(os.read(reader, 100))
    try:
        yield child
    finally:
        for process in filter(None, (child, grandchild)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)
        for end in (reader, writer):
            os.close(end)


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def known(stage: Any, store: Store) -> Any:
    stage.fingerprint = "f"
    remember(stage, store)
    return stage


def is_free(store: Store, seconds: float = 0.4) -> bool:
    """Whether a thread can lock the key within so many seconds; it waits for it in any case."""
    got = threading.Event()

    def take() -> None:
        with store.lock(["key"]):
            got.set()

    threading.Thread(target=take, daemon=True).start()
    return got.wait(seconds)


def test_values_come_back(store: Store, open_store: Callable[[], Store]) -> None:
    values = {str(n): bytes([n % 256]) * (n % 5) for n in range(1200)}
    store.put("test", values, 1.5)
    assert store.get(map(str, range(1300))) == values
    assert open_store().entries.find(["7", "none"]) == {"7": (b"\x07\x07", 1.5)}
    store.put("test", {"7": b"another"})
    assert store.entries.find(["7"]) == {"7": (b"another", 0.0)}


def test_values_of_megabytes(store: Store) -> None:
    values = {str(n): random.Random(n).randbytes(12_000_000 + n) for n in range(4)}
    with store.lock(["0", "1"]):
        store.put("test", values)
    assert store.get(values) == values


def test_locks_exclude_each_other_and_leave_nothing_behind(store: Store) -> None:
    inside, most, guard = [0], [0], threading.Lock()

    def work(number: int) -> None:
        with store.lock(["a", "b", "a"] if number % 2 else ["b", "c"]):
            with guard:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            time.sleep(0.002)
            with guard:
                inside[0] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    assert most == [1]
    assert get_locks(store.path)._claimed == set()


def test_thousands_of_keys_are_locked_at_once(store: Store) -> None:
    with store.lock(map(str, range(8000))), store.lock(map(str, range(8000, 9000))):
        store.put("test", {"1": b"1"})


def test_the_key_of_a_killed_process_is_free_at_once(store: Store) -> None:
    with child_with_key(store) as child:
        assert not is_free(store)
        kill(child)
        assert is_free(store, 30)


def test_processes_that_hold_what_the_others_threads_want_are_no_deadlock(store: Store) -> None:
    def hold(first: str, second: str) -> None:
        for _ in range(5):
            with store.lock([first, f"x{second}"]):
                time.sleep(0.01)
            with store.lock([second, f"x{first}"]):
                time.sleep(0.01)

    def work() -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(hold, "acbd", "bdac"))

    children = [run_in_child(work) for _ in range(2)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]


def test_a_child_waits_for_its_parent_and_writes_for_itself(store: Store) -> None:
    store.put("test", {"parent": b"1"})
    reader, writer = os.pipe()

    def work() -> None:
        assert store.get(["parent"]) == {"parent": b"1"}
        store.put("test", {"child": b"2"})
        os.write(writer, b"1")
        with store.lock(["key"]):
            store.put("test", {"key": b"3"})

    with store.lock(["key"]):
        child = run_in_child(work)
        os.read(reader, 1)
        time.sleep(0.2)
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
        store.put("test", {"mine": b"4"})
    assert os.waitpid(child, 0)[1] == 0
    assert len(store.get(["parent", "child", "key", "mine"])) == 4
    for end in (reader, writer):
        os.close(end)


def test_the_key_of_a_killed_process_is_free_while_its_child_lives(store: Store) -> None:
    with child_with_key(store, forks=True) as child:
        assert not is_free(store)
        kill(child)
        assert is_free(store, 30)


def test_sixty_four_threads_compute_each_result_once(store: Store) -> None:
    llm = known(toys.EchoLLM(), store)
    with ThreadPoolExecutor(64) as pool:
        replies = list(pool.map(lambda n: llm.complete(make_prompt(f"{n % 40}?")).text, range(640)))
    assert llm.asked == 40
    assert len(set(replies)) == 40


def test_a_call_in_flight_in_another_process_is_waited_for_and_can_be_cancelled(
    store: Store,
) -> None:
    cancellation, ended = Cancellation(), threading.Event()
    told: list[str] = []

    def wait() -> None:
        try:
            with cancellation.apply(), store.lock(["key"]):
                told.append("locked")
        except Cancelled:
            told.append("cancelled")
        ended.set()

    with child_with_key(store):
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.3)
        assert not ended.is_set()
        cancellation.cancel()
        assert ended.wait(30)
        thread.join()
    assert told == ["cancelled"]


def test_a_changed_value_is_computed_again_with_one_warning(
    store: Store,
    open_store: Callable[[], Store],
    request: pytest.FixtureRequest,
    caplog: pytest.LogCaptureFixture,
) -> None:
    llm = known(toys.EchoLLM(), store)
    replies = [llm.complete(make_prompt(f"{n}?")) for n in range(20)]
    table = "convrag_entries" if store.url else "entries"
    edit = (
        partial(request.getfixturevalue("postgres").execute, schema=store.url)
        if store.url
        else edit_file(store)
    )
    edit(
        f"UPDATE {table} SET value = 'x' WHERE key IN (SELECT key FROM {table} ORDER BY key LIMIT 12)"
    )
    edit(f"UPDATE {table} SET seconds = 99 WHERE key = (SELECT max(key) FROM {table})")
    again = known(toys.EchoLLM(), open_store())
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: again.complete(make_prompt(f"{n}?")), range(20))) == replies
    assert again.asked == 13
    (warning,) = caplog.messages
    assert (
        warning == f"{store.name}: an entry is damaged; it is computed again, as are others like it"
    )


def edit_file(store: Store) -> Callable[[str], None]:
    """Executes SQL in SQLite's file."""

    def execute(sql: str) -> None:
        with sqlite3.connect(store.path / FILE) as connection:
            connection.execute(sql)
        connection.close()

    return execute


def test_a_value_that_cannot_be_decoded_is_computed_again(
    store: Store, open_store: Callable[[], Store], caplog: pytest.LogCaptureFixture
) -> None:
    first = known(toys.EchoLLM(), store).complete(make_prompt())
    store.put("EchoLLM.complete", dict.fromkeys(list_keys(store), b"no reply"), 1.0)
    again = known(toys.EchoLLM(), open_store())
    assert again.complete(make_prompt()) == again.complete(make_prompt()) == first
    assert again.asked == 1
    (warning,) = caplog.messages
    assert f"{store.name}: an entry of EchoLLM.complete cannot be read" in warning


def list_keys(store: Store) -> list[str]:
    """All keys of the values."""
    entries: Any = store.entries
    if store.url:
        return [key for (key,) in entries._fetch("SELECT key FROM convrag_entries")]
    return [key for (key,) in entries._execute("SELECT key FROM entries")]
