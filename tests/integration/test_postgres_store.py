"""A store in PostgreSQL: lost connections and locks, and what is said where the server cannot be
used.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag.api.errors import ConfigError
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.registry.plugins import open_database
from convrag.store.remember import remember
from convrag.store.store import Store, get_store
from convrag.testing import make_prompt
from convrag_kit.doctor_checks import check_store
from convrag_postgres import server
from postgres_server import PASSWORD, USER, PostgresServer
from processes import run_in_child

pytestmark = [pytest.mark.cluster, pytest.mark.integration]


@contextmanager
def other_machine(url: str, path: Path, key: str) -> Iterator[int]:
    """A process with a folder of its own that makes the call of a key; kill it at the end."""
    reader, writer = os.pipe()

    def hold() -> None:
        with open_store(path, url).lock([key], on_all_machines=True):
            os.write(writer, b"1")
            time.sleep(60)

    child = run_in_child(hold)
    try:
        assert os.read(reader, 1) == b"1"
        yield child
    finally:
        kill(child)
        for end in (reader, writer):
            os.close(end)


def kill(child: int) -> None:
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def open_store(path: Path, url: str) -> Store:
    return Store(path, url, open_database)


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.make_schema()


@pytest.fixture
def store(url: str, tmp_path: Path) -> Store:
    return open_store(tmp_path / "store", url)


def cut(server: PostgresServer, pids: list[int] | None = None) -> None:
    """End connections to the server, by default all of this process's."""
    if pids is None:
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'convrag'"
        )
    for pid in pids or []:
        server.execute(f"SELECT pg_terminate_backend({pid})")


def known(stage: Any, store: Store) -> Any:
    stage.fingerprint = "f"
    remember(stage, store)
    return stage


def is_free(store: Store, key: str, *, on_all_machines: bool, seconds: float = 0.5) -> bool:
    """Whether a thread can lock a key within so many seconds; its wait is cancelled then."""
    cancellation = Cancellation()

    def take() -> bool:
        try:
            with cancellation.apply(), store.lock([key], on_all_machines=on_all_machines):
                return True
        except Cancelled:
            return False

    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(take)
        wait([taken], seconds)
        cancellation.cancel()
        return taken.result(30)


def test_other_machines_wait_for_calls_of_models_alone(
    url: str, store: Store, tmp_path: Path
) -> None:
    with other_machine(url, tmp_path / "other", "key") as child:
        assert not is_free(store, "key", on_all_machines=True)
        assert is_free(store, "other key", on_all_machines=True)
        assert is_free(store, "key", on_all_machines=False)
        kill(child)
        assert is_free(store, "key", on_all_machines=True, seconds=5)
    assert is_free(store, "key", on_all_machines=True)


def test_a_model_is_asked_once_by_two_machines(url: str, store: Store, tmp_path: Path) -> None:
    class Slow(toys.EchoLLM):
        def complete(self, prompt: Any) -> Any:
            time.sleep(0.3)
            return super().complete(prompt)

    llms = [
        known(Slow(), each)
        for each in (store, open_store(tmp_path / "other", f"{url}&application_name=other"))
    ]
    with ThreadPoolExecutor(8) as pool:
        replies = list(
            pool.map(lambda n: llms[n % 2].complete(make_prompt(f"{n % 4 // 2}?")), range(8))
        )
    assert sum(llm.asked for llm in llms) == 2
    assert len({reply.text for reply in replies}) == 2


def test_a_session_that_is_lost_frees_its_calls_and_nothing_else_is_lost(
    store: Store, postgres: PostgresServer
) -> None:
    with store.lock(["call"], on_all_machines=True):
        cut(postgres)
        store.put("mine", {"call": b"mine"}, 1.0)
    with store.lock(["call"], on_all_machines=True):
        assert store.get(["call"]) == {"call": b"mine"}


def test_connections_that_drop_are_taken_up_again(store: Store, postgres: PostgresServer) -> None:
    stop = threading.Event()

    def disturb() -> None:
        while not stop.wait(0.05):
            cut(postgres)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:

        def work(number: int) -> None:
            with store.lock([str(number % 40)], on_all_machines=True):
                store.put("test", {f"{number}": b"x" * 1000})
                assert store.get([f"{number}"])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(120)))
    finally:
        stop.set()
        thread.join()
    assert len(store.get(map(str, range(120)))) == 120


def test_the_server_is_started_again(
    store: Store, postgres: PostgresServer, caplog: pytest.LogCaptureFixture
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
        late.result(30)
        with store.lock(["next"]):
            pass
    assert store.get(["computed"]) == {"computed": b"1"}
    assert "It is tried again" in caplog.text
    assert PASSWORD not in caplog.text


def test_a_server_that_stays_away_ends_the_run(
    store: Store, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.5)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: store.put("test", {str(number): b"1"}), range(40)))
    postgres.stop()
    try:
        with pytest.raises(
            ConfigError, match=r"cannot be used: .*refused.* See that the server runs"
        ):
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
        store = open_store(tmp_path, url)
        time.sleep(max(0.0, together - time.time()))
        store.put("test", {str(number): b"1"})

    children = [run_in_child(lambda number=number: put(number)) for number in range(8)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    assert len(open_store(tmp_path, url).get(map(str, range(8)))) == 8


def test_stores_that_are_no_longer_used_close_their_connections(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = f"{postgres.make_schema()}&application_name=unused"
    opened = "SELECT pid FROM pg_stat_activity WHERE application_name = 'unused'"
    store = get_store(tmp_path, url, open_database)
    assert get_store(tmp_path, url, open_database) is store
    assert get_store(tmp_path) is not store
    with store.lock(["a"], on_all_machines=True):
        store.put("test", {"a": b"1"})
    assert 0 < len(postgres.execute(opened)) <= server.POOL + 1
    del store
    deadline = time.monotonic() + 5
    while postgres.execute(opened):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def make_user(server: PostgresServer, name: str, database: str, *rights: str) -> None:
    server.execute(f"CREATE USER {name} PASSWORD 'hunter2-{name}'")
    for right in rights:
        server.execute(right.format(name), database)


def test_what_is_said_where_the_server_cannot_be_used(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.make_database()
    database = url.rpartition("/")[2]
    place = f"127.0.0.1:{postgres.port}"
    open_store(tmp_path, url).open()
    make_user(postgres, "reader", database, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}")
    make_user(postgres, "nobody_here", database)
    empty = postgres.make_database().rpartition("/")[2]
    postgres.execute(
        f"ALTER ROLE nobody_here IN DATABASE {database} SET default_transaction_read_only = on"
    )

    def make(user: str, name: str) -> str:
        return postgres.make_address(name, user=user, password=f"hunter2-{user}")

    cases: list[tuple[str, str]] = [
        (
            postgres.make_address(database, password="wrong-one"),
            "password authentication failed.*Set PGPASSWORD",
        ),
        (postgres.make_address("nowhere"), 'database "nowhere" does not exist. Make it there'),
        (url.replace(place, "127.0.0.1:9"), "refused. See that the server runs"),
        (
            url.replace(place, "no-such-host.invalid"),
            "See that the server runs, and can be reached",
        ),
        (
            make("reader", database),
            "permission denied .*Name a server, and a user, that may read and write",
        ),
        (make("reader", empty), "permission denied for schema public. Its user must be allowed"),
        (make("nobody_here", database), "permission denied for table convrag_store"),
        ("mysql://bob:hunter2@h/db", "name a database of PostgreSQL"),
        (f"postgresql://bob:hunter2@{place}", "name a database of PostgreSQL"),
        ("postgresql+psycopg://bob:hunter2@h:port/db", "SQLAlchemy cannot read"),
    ]
    for address, message in cases:
        with pytest.raises(ConfigError, match=message) as caught:
            open_store(tmp_path, address).open()
        said = str(caught.value)
        assert said.startswith("store.url=")
        assert "\n" not in said
        assert "hunter2" not in said
        assert "wrong-one" not in said
        assert PASSWORD not in said
    postgres.execute("UPDATE convrag_store SET version = 7", database)
    with pytest.raises(
        ConfigError, match="tables are of version 7, and this convrag has version 1"
    ):
        open_store(tmp_path, url + "?application_name=again").open()


def test_a_server_that_only_reads_is_told(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.make_database()
    open_store(tmp_path, url).open()
    with pytest.raises(ConfigError, match="the server is read-only"):
        open_store(tmp_path, url + "?options=-cdefault_transaction_read_only%3Don").open()


def test_a_wait_ends_when_it_is_interrupted(store: Store) -> None:
    def wait() -> None:
        try:
            with store.lock(["key"], on_all_machines=True):
                os._exit(2)
        except KeyboardInterrupt:
            os._exit(3)

    with store.lock(["key"], on_all_machines=True):
        child = run_in_child(wait)
        time.sleep(0.6)
        os.kill(child, signal.SIGINT)
        interrupted = time.monotonic()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        assert time.monotonic() - interrupted < 10


def test_the_password_comes_from_the_environment_and_stays_there(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    database = postgres.make_database().rpartition("/")[2]
    store = open_store(
        tmp_path, f"postgresql+psycopg://{USER}@127.0.0.1:{postgres.port}/{database}"
    )
    store.put("test", {"a": b"1"})
    assert store.get(["a"]) == {"a": b"1"}
    assert PASSWORD not in repr(vars(store)) + store.name


def test_the_doctor_asks_the_server(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.make_schema()
    first, *_ = check_store(tmp_path, url)
    assert (first.level, "answers: PostgreSQL" in first.message) == ("ok", True)
    assert postgres.execute("SELECT to_regclass('convrag_store')", schema=url) == [(None,)], (
        "it makes nothing"
    )
    first, *_ = check_store(tmp_path, url.replace(f":{postgres.port}/", ":9/"))
    assert (first.level, "See that the server runs" in first.message) == ("fail", True)
