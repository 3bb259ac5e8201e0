"""A store in PostgreSQL: lost connections and locks, and what is said where the server cannot be used."""

# ruff: noqa: F811 - the fixture's name is an argument

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag.api.errors import ConfigError, MissingExtra
from convrag.config.compose import compose, settings_of
from convrag.store import postgres_connections
from convrag.store.remember import remember
from convrag.store.store import Store, get_store
from convrag.testing import make_prompt
from convrag_kit.doctor_storage import check_store
from postgres_server import PASSWORD, USER, PostgresServer, postgres  # noqa: F401 - a fixture
from processes import run_in_child

pytestmark = [pytest.mark.cluster, pytest.mark.integration]


class Other:
    """A forked process that computes a key when it is told so, and puts it when it is told to go on."""

    def __init__(self, store: Store) -> None:
        self._commands, self._said = os.pipe(), os.pipe()
        self._store = store
        self._pid = run_in_child(self._work)

    def say(self, line: str) -> None:
        os.write(self._commands[1], f"{line}\n".encode())

    def hear(self) -> str:
        return os.read(self._said[0], 100).decode()

    def end(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        for end in (*self._commands, *self._said):
            os.close(end)

    def _work(self) -> None:
        store = self._store
        store.open()
        while True:
            key = os.read(self._commands[0], 100).decode().strip()
            with store.lock([key]):
                os.write(self._said[1], b"locked")
                os.read(self._commands[0], 100)
                store.put("other", {key: b"theirs"}, 1.0)
            os.write(self._said[1], b"done")


@contextmanager
def other_process(store: Store) -> Iterator[Other]:
    other = Other(store)
    try:
        yield other
    finally:
        other.end()


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.make_schema()


@pytest.fixture
def store(url: str, tmp_path: Path) -> Store:
    return Store(tmp_path / "store", url)


def cut(server: PostgresServer, pids: list[int] | None = None) -> None:
    """End connections to the server, by default all of this process's."""
    if pids is None:
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'convrag'")
    for pid in pids or []:
        server.execute(f"SELECT pg_terminate_backend({pid})")


def list_own(store: Store) -> list[int]:
    """The server's processes for the connections of this process."""
    entries: Any = store.entries
    return [each.info.backend_pid for each in entries._connections._all if not each.closed]


def count_rows(server: PostgresServer, store: Store, table: str) -> object:
    ((count,),) = server.execute(f"SELECT count(*) FROM {table}", schema=store.url)
    return count


def known(stage: Any, store: Store) -> Any:
    stage.fingerprint = "f"
    remember(stage, store)
    return stage


def test_the_value_of_a_holder_that_lost_its_lock_is_refused(store: Store, postgres: PostgresServer) -> None:
    """Whether the later holder has finished, or still computes."""
    with other_process(store) as other:
        for when in ("computing", "done"):
            with store.lock([when]):
                other.say(when)
                cut(postgres, list_own(store))  # the server says that we are gone; we compute on
                assert other.hear() == "locked"
                if when == "done":
                    other.say("go on")
                    assert other.hear() == "done"
                assert store.put("mine", {when: b"mine"}, 1.0) == {when}
                if when == "computing":
                    assert store.get([when]) == {}
                    other.say("go on")
                    assert other.hear() == "done"
            assert store.get([when]) == {when: b"theirs"}
    with store.lock(["next"]):  # a new session deletes what was left by the one that was lost
        assert count_rows(postgres, store, "convrag_locks") == 1


def test_a_lock_that_nobody_took_meanwhile_is_kept(store: Store, postgres: PostgresServer) -> None:
    with store.lock(["a", "b"]):
        cut(postgres)
        assert store.put("mine", {"a": b"1"}) == set()
        with store.lock(["c"]), other_process(store) as other:  # a new session has taken them again
            other.say("b")
            time.sleep(0.8)
            assert store.put("mine", {"b": b"2"}) == set()
    assert store.get(["a", "b"]) == {"a": b"1", "b": b"2"}
    assert count_rows(postgres, store, "convrag_locks") == 0


def test_the_result_of_the_later_holder_is_used(
    store: Store,
    postgres: PostgresServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Slow(toys.EchoLLM):
        def complete(self, prompt: Any) -> Any:
            reply = super().complete(prompt)
            if self.asked == 1:
                cut(postgres, list_own(store))
                twin.complete(prompt)
            return type(reply)("of a host that was cut off")

    # Two stores of one process share its locks, so the later holder is one with connections of its own.
    twin_store = Store(store.path, store.url.replace("postgresql+psycopg", "postgresql"))
    assert twin_store.entries is not store.entries
    twin = known(toys.EchoLLM(), twin_store)
    slow = Slow()
    llm = known(slow, store)
    answer = llm.complete(make_prompt("hello"))
    assert answer == twin.complete(make_prompt("hello"))
    assert answer.text != "of a host that was cut off"
    assert (twin.asked, slow.asked) == (1, 1)
    assert "while Slow.complete was computed, and another process" in caplog.text


def test_connections_that_drop_are_taken_up_again(store: Store, postgres: PostgresServer) -> None:
    stop = threading.Event()

    def disturb() -> None:
        while not stop.wait(0.05):
            cut(postgres)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:

        def work(number: int) -> None:
            with store.lock([str(number % 40)]):
                store.put("test", {f"{number}": b"x" * 1000})
                assert store.get([f"{number}"])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(120)))
    finally:
        stop.set()
        thread.join()
    assert len(store.get(map(str, range(120)))) == 120
    store.open()
    with store.lock(["last"]):
        assert count_rows(postgres, store, "convrag_locks") == 1


def test_the_server_is_started_again(
    store: Store,
    postgres: PostgresServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    store.put("test", {"before": b"0"})
    time.sleep(0.8)  # what was written in the last half second may be lost with the server
    with store.lock(["computed"]), ThreadPoolExecutor(2) as pool:
        postgres.stop()
        waiting = pool.submit(store.get, ["before"])
        late = pool.submit(store.put, "test", {"computed": b"1"})
        time.sleep(0.3)
        postgres.start()
        assert waiting.result(30) == {"before": b"0"}
        assert late.result(30) == set()
        with store.lock(["next"]):
            pass
    assert store.get(["computed"]) == {"computed": b"1"}
    assert "It is tried again" in caplog.text
    assert PASSWORD not in caplog.text


def test_a_server_that_stays_away_ends_the_run(
    store: Store,
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgres_connections, "PATIENCE", 0.5)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: store.put("test", {str(number): b"1"}), range(40)))
    postgres.stop()
    try:
        with pytest.raises(ConfigError, match=r"cannot be used: .*refused.* See that the server runs"):
            store.get(["a"])
    finally:
        postgres.start()
    time.sleep(0.6)
    assert store.get(["a"]) == {}
    store.put("test", {"a": b"1"})
    assert store.get(["a"]) == {"a": b"1"}


def test_many_processes_make_the_tables_once(url: str, tmp_path: Path) -> None:
    together = time.time() + 0.3

    def put(number: int) -> None:
        store = Store(tmp_path, url)
        time.sleep(max(0.0, together - time.time()))
        store.put("test", {str(number): b"1"})

    children = [run_in_child(lambda number=number: put(number)) for number in range(8)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    assert len(Store(tmp_path, url).get(map(str, range(8)))) == 8


def test_tables_that_were_deleted_are_made_anew(store: Store, postgres: PostgresServer) -> None:
    store.put("test", {"a": b"1"})
    tables = "DROP TABLE convrag_entries, convrag_locks, convrag_store; DROP SEQUENCE convrag_numbers"
    postgres.execute(tables, schema=store.url)
    assert store.get(["a"]) == {}
    store.put("test", {"a": b"2"})
    assert store.get(["a"]) == {"a": b"2"}


def test_stores_that_are_no_longer_used_close_their_connections(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.make_schema()
    store = get_store(tmp_path, url)
    assert get_store(tmp_path, url) is store
    assert get_store(tmp_path / "b", url).entries is store.entries
    assert get_store(tmp_path) is not store
    with store.lock(["a"]):
        store.put("test", {"a": b"1"})
    pids = list_own(store)
    assert 0 < len(pids) <= postgres_connections.POOL + 1
    del store
    deadline = time.monotonic() + 5
    wanted = ",".join(map(str, pids))
    while postgres.execute(f"SELECT 1 FROM pg_stat_activity WHERE pid IN ({wanted})"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def make_user(server: PostgresServer, name: str, database: str, *rights: str) -> None:
    server.execute(f"CREATE USER {name} PASSWORD 'hunter2-{name}'")
    for right in rights:
        server.execute(right.format(name), database)


def test_what_is_said_where_the_server_cannot_be_used(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.make_database()
    database = url.rpartition("/")[2]
    place = f"127.0.0.1:{postgres.port}"
    Store(tmp_path, url).open()
    make_user(postgres, "reader", database, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}")
    make_user(postgres, "nobody_here", database)
    empty = postgres.make_database().rpartition("/")[2]
    postgres.execute(f"ALTER ROLE nobody_here IN DATABASE {database} SET default_transaction_read_only = on")

    def make(user: str, name: str) -> str:
        return postgres.make_address(name, user=user, password=f"hunter2-{user}")

    cases: list[tuple[str, str]] = [
        (postgres.make_address(database, password="wrong-one"), "password authentication failed.*Set PGPASSWORD"),
        (postgres.make_address("nowhere"), 'database "nowhere" does not exist. Make it there'),
        (url.replace(place, "127.0.0.1:9"), "refused. See that the server runs"),
        (url.replace(place, "no-such-host.invalid"), "See that the server runs, and can be reached"),
        (make("reader", database), "permission denied .*Name a server, and a user, that may read and write"),
        (make("reader", empty), "permission denied for schema public. Its user must be allowed"),
        (make("nobody_here", database), "permission denied for table convrag_store"),
        ("mysql://bob:hunter2@h/db", "name a database of PostgreSQL"),
        (f"postgresql://bob:hunter2@{place}", "name a database of PostgreSQL"),
        ("postgresql+psycopg://bob:hunter2@h:port/db", "SQLAlchemy cannot read"),
    ]
    for address, message in cases:
        with pytest.raises(ConfigError, match=message) as caught:
            Store(tmp_path, address).open()
        said = str(caught.value)
        assert said.startswith("store.url=")
        assert "\n" not in said
        assert "hunter2" not in said
        assert "wrong-one" not in said
        assert PASSWORD not in said
    postgres.execute("UPDATE convrag_store SET version = 7", database)
    with pytest.raises(ConfigError, match="tables are of version 7, and this convrag has version 1"):
        Store(tmp_path, url + "?application_name=again").open()


def test_a_server_that_only_reads_is_told(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.make_database()
    Store(tmp_path, url).open()
    with pytest.raises(ConfigError, match="the server is read-only"):
        Store(tmp_path, url + "?options=-cdefault_transaction_read_only%3Don").open()


def test_without_the_driver_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"convrag\[postgres\]"):
        Store(tmp_path, "postgresql://h/db")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("mysql://h/db", "name a database of PostgreSQL"),
        ("outputs/store", "name a database of PostgreSQL"),
        ("postgresql://me:hunter2@h/db", "holds a password"),
    ],
)
def test_a_wrong_setting_is_refused(value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        settings_of(compose(f"store.url='{value}'"))
    assert "hunter2" not in str(caught.value)


def test_a_wait_ends_when_it_is_interrupted(store: Store) -> None:
    def wait() -> None:
        try:
            with store.lock(["key"]):
                os._exit(2)
        except KeyboardInterrupt:
            os._exit(3)

    with store.lock(["key"]):
        child = run_in_child(wait)
        time.sleep(0.6)
        os.kill(child, signal.SIGINT)
        interrupted = time.monotonic()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        assert time.monotonic() - interrupted < 2


def test_the_password_comes_from_the_environment_and_stays_there(
    postgres: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    database = postgres.make_database().rpartition("/")[2]
    store = Store(tmp_path, f"postgresql+psycopg://{USER}@127.0.0.1:{postgres.port}/{database}")
    store.put("test", {"a": b"1"})
    assert store.get(["a"]) == {"a": b"1"}
    assert PASSWORD not in repr(vars(store)) + store.name


def test_the_doctor_asks_the_server(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.make_schema()
    first, *_ = check_store(tmp_path, url)
    assert (first.level, "answers: PostgreSQL" in first.message) == ("ok", True)
    assert postgres.execute("SELECT to_regclass('convrag_store')", schema=url) == [(None,)], "it makes nothing"
    first, *_ = check_store(tmp_path, url.replace(f":{postgres.port}/", ":9/"))
    assert (first.level, "See that the server runs" in first.message) == ("fail", True)
