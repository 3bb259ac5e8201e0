"""Clusters that are down, busy, slow, of another version, or none at all; and keys, which no output
may show.
"""

import logging
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

pytest.importorskip("elasticsearch")
pytest.importorskip("jsonschema")

from commands import run_convrag
from convrag.api.errors import ConvragError, RunStopped
from convrag.api.queries import Query
from convrag.config.compose import compose
from convrag.run.records import read_records
from convrag.run.runner import run_experiment
from convrag.store.store import Store
from convrag.testing.samples import passages
from convrag_elasticsearch.batcher import Batcher
from convrag_elasticsearch.elasticsearch_engine import Elasticsearch
from convrag_elasticsearch.errors import ClusterError
from convrag_elasticsearch.index_names import build_alias, build_index_name, parse_generation
from convrag_elasticsearch.retriever import ElasticsearchRetriever
from convrag_tasks.run import IndexTask
from elasticsearch_server import Fault, Server, running_server
from elasticsearch_toys import Hashed
from toys import Corpora

pytestmark = pytest.mark.integration

VARIABLES = ("ES_URL", "ES_CLOUD_ID", "ES_API_KEY", "ES_USER", "ES_PASSWORD", "ES_CA_CERTS")
QUERY = [Query("copper kettle")]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("convrag_elasticsearch.retries.INITIAL_BACKOFF", 0.01)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with running_server() as server:
        monkeypatch.setenv("ES_URL", server.address)
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def retriever(store: Store, **options: Any) -> ElasticsearchRetriever:
    return ElasticsearchRetriever(
        dataset=Corpora(default=passages()),
        embedder=Hashed(),
        store=store,
        **{"retries": 3, **options},
    )


def indexed(store: Store, **options: Any) -> ElasticsearchRetriever:
    stage = retriever(store, **options)
    stage.index()
    return stage


def nowhere() -> str:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


# Before the first turn
# --------------------------------------------------------------------------------------------


def test_a_cluster_that_is_down_is_one_message(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    address = nowhere()
    monkeypatch.setenv("ES_URL", address)
    (problem,) = retriever(store).check()
    assert f"nothing answers at {address} (ConnectionError: " in problem
    assert "Connection refused" in problem
    assert "docker compose up" in problem


def test_what_is_no_elasticsearch_is_said_to_be_none(server: Server, store: Store) -> None:
    server.inject_faults(Fault(product=None, times=99))
    (problem,) = retriever(store).check()
    assert "is not Elasticsearch: it does not say" in problem


def test_a_cluster_that_answers_is_no_problem(server: Server, store: Store) -> None:
    assert list(retriever(store).check()) == []


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "Check ES_API_KEY"), (403, "may not do that"), (503, "well?")]
)
def test_who_is_turned_away_reads_why(
    status: int, advice: str, server: Server, store: Store
) -> None:
    server.inject_faults(Fault(status=status, times=9))
    (problem,) = retriever(store).check()
    assert advice in problem


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, "neither ES_URL nor ES_CLOUD_ID says where the cluster is"),
        ({"ES_URL": " , "}, "neither ES_URL nor"),
        ({"ES_URL": "http://a:1", "ES_CLOUD_ID": "x:eA=="}, "ES_URL and ES_CLOUD_ID both"),
        ({"ES_URL": "localhost:9200"}, "ES_URL: 'localhost:9200' is not an address"),
        ({"ES_URL": "http://me:hunter2@a:port"}, "ES_URL: 'a:port' is not an address"),
        ({"ES_URL": "http://a:99999"}, "'http://a:99999' is not an address"),
        ({"ES_URL": "ftp://a"}, "'ftp://a' is not an address"),
        ({"ES_URL": "http://a", "ES_USER": "me"}, "ES_PASSWORD is not set"),
        ({"ES_URL": "http://a", "ES_PASSWORD": "me"}, "ES_USER is not set"),
        (
            {"ES_URL": "http://a", "ES_USER": "a", "ES_PASSWORD": "b", "ES_API_KEY": "c"},
            "ES_API_KEY and ES_USER both",
        ),
        (
            {"ES_URL": "http://a", "ES_CA_CERTS": "/nowhere.pem"},
            "ES_CA_CERTS=/nowhere.pem is not a file",
        ),
    ],
)
def test_variables_that_make_no_sense(
    variables: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (problem,) = retriever(store).check()
    assert message in problem
    assert "hunter2" not in problem


def test_the_environment_becomes_the_clients_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ES_URL", "https://me:p%40ss@one/es/, http://two:81,http://[::1]")
    given = Elasticsearch().read_connection()
    assert given.hosts == ["https://one:443/es", "http://two:81", "http://[::1]:9200"]
    assert given.credentials == ("me", "p@ss")
    assert "p@ss" not in repr(given)
    assert "p%40ss" not in repr(given)


# Searches
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        Fault("_msearch", status=503),
        Fault("_msearch", status=429, times=2),
        Fault("_msearch", close="reset"),
        Fault("_msearch", close="close"),
        Fault("_msearch", status=429, items=(0,)),
        Fault("_msearch", shards=1),
        Fault("_msearch", delay=0.7),
    ],
    ids=str,
)
def test_passing_trouble_is_waited_out(fault: Fault, server: Server, store: Store) -> None:
    stage = indexed(store, timeout=0.5)
    wanted = stage.retrieve(QUERY, 3)
    server.inject_faults(fault)
    assert stage.retrieve(QUERY, 3) == wanted
    assert not any(fault.times for fault in server.faults)


def test_it_waits_as_long_as_the_cluster_says(server: Server, store: Store) -> None:
    stage = indexed(store)
    server.inject_faults(Fault("_msearch", status=503, headers={"Retry-After": "1"}))
    start = time.monotonic()
    stage.retrieve(QUERY, 3)
    assert 1.0 <= time.monotonic() - start < 3


def test_a_cluster_that_asks_for_too_long_a_wait_is_not_waited_for(
    server: Server, store: Store
) -> None:
    stage = indexed(store, retry_seconds=5)
    server.inject_faults(Fault("_msearch", times=9, status=503, headers={"Retry-After": "3600"}))
    with pytest.raises(ClusterError, match="503"):
        stage.retrieve(QUERY, 3)
    assert len(server.searches()) == 1


def test_while_a_cluster_is_down_each_search_tries_once(server: Server, store: Store) -> None:
    stage = indexed(store, retries=3)
    server.inject_faults(Fault("_msearch", times=6, status=503))
    for tries in (4, 1, 1):
        before = len(server.searches())
        with pytest.raises(ClusterError):
            stage.retrieve(QUERY, 3)
        assert len(server.searches()) - before == tries
    assert stage.retrieve(QUERY, 3)
    server.inject_faults(Fault("_msearch", times=3, status=503))
    assert stage.retrieve(QUERY, 3)  # it was up again, and is waited for again


def test_a_refused_search_is_not_repeated(server: Server, store: Store) -> None:
    stage = indexed(store)
    with pytest.raises(ClusterError, match=r"max_result_window.* Fewer passages: top_k"):
        stage.retrieve(QUERY, 20_000)
    assert len(server.searches()) == 1


def test_an_error_reaches_the_search_that_has_it(server: Server, store: Store) -> None:
    stage = indexed(store, window=0.2)
    sizes = [3, 20_000, 2]
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(stage.retrieve, QUERY, size) for size in sizes]
    assert [len(answers[place].result()) for place in (0, 2)] == [2, 2]
    assert isinstance(answers[1].exception(), ClusterError)
    assert len(server.searches()) == 1


def test_a_batch_that_is_refused_as_a_whole_is_asked_one_by_one(
    server: Server, store: Store
) -> None:
    stage = indexed(store, window=0.2)
    server.inject_faults(Fault("_msearch", status=413))
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: stage.retrieve(QUERY, 1), range(3)))
    assert [hits[0].passage.id for hits in answers] == ["tea-3"] * 3
    assert len(server.searches()) == 4


@pytest.mark.parametrize(("on_failure", "error"), [("go_on", ClusterError), ("stop", RunStopped)])
def test_what_a_failure_means_for_the_run(
    on_failure: Any, error: type, server: Server, store: Store
) -> None:
    stage = indexed(store, on_failure=on_failure, retries=0)
    server.inject_faults(Fault("_msearch", times=9, status=503))
    with pytest.raises(error):
        stage.retrieve(QUERY, 3)
    server.inject_faults()
    with pytest.raises(ClusterError):  # this is the search's own fault, not the cluster's
        stage.retrieve(QUERY, 20_000)


@pytest.mark.parametrize("on_failure", ["go_on", "stop"])
def test_a_cluster_that_goes_down_in_mid_run(on_failure: str, server: Server, here: Path) -> None:
    chosen = [
        "tracker=none",
        "rewriter=none",
        "generator=none",
        "workers=2",
        "retriever=elasticsearch",
    ]
    config = compose(*chosen, "retriever.retries=0", f"retriever.on_failure={on_failure}")
    IndexTask().execute(config, here)
    answered: list[int] = []

    def search() -> None:
        answered.append(1)
        if 10 < len(answered) <= 20:
            server.inject_faults(Fault("_msearch", times=1, status=503))

    server.on_search = search
    _, summary = run_experiment(config, here / "run")
    rows = list(read_records(here / "run" / "intermediate"))
    failed = [row.error for row in rows if row.error]
    if on_failure == "go_on":
        assert not summary.stopped
        assert len(rows) == 49
        assert 0 < len(failed) == summary.failed < 40
        assert all("retriever: Elasticsearch refused (status 503)" in error for error in failed)
    else:
        assert "The same command goes on from here." in summary.stopped
        assert len(rows) < 49
        assert not failed
        _, summary = run_experiment(compose(*chosen), here / "again")
        assert summary.turns == 49
        assert summary.usage["retriever"].reused


# Keys
# -------------------------------------------------------------------------------------------------------------


def test_keys_stand_in_no_message_and_no_log(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    secrets = ["planted-api-key-0123", "hunter2-planted", b64encode(b"me:hunter2-planted").decode()]
    with running_server() as server:
        host = server.address.removeprefix("http://")
        for variables in (
            {"ES_URL": f"http://me:hunter2-planted@{host}"},
            {"ES_URL": server.address, "ES_API_KEY": "planted-api-key-0123"},
            {"ES_URL": f"http://me:hunter2-planted@{nowhere().removeprefix('http://')}"},
        ):
            for name in VARIABLES:
                monkeypatch.delenv(name, raising=False)
            for name, value in variables.items():
                monkeypatch.setenv(name, value)
            server.inject_faults(Fault(status=401, times=9))
            stage = retriever(store, retries=0)
            said += stage.check()
            with pytest.raises(ConvragError) as caught:
                stage.retrieve(QUERY, 1)
            said += [
                repr(caught.value),
                repr(caught.value.__cause__),
                repr(caught.value.__context__),
            ]
        sent = {headers.get("authorization") for _, _, headers, _ in server.requests}
    assert sent == {f"Basic {secrets[2]}", "ApiKey planted-api-key-0123"}
    for secret in secrets:
        assert secret not in "\n".join([*said, caplog.text])


@pytest.mark.slow
def test_keys_stand_in_no_file_of_a_run(
    server: Server, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = ["hunter2-planted", b64encode(b"me:hunter2-planted").decode()]
    monkeypatch.setenv("ES_URL", server.address.replace("http://", "http://me:hunter2-planted@"))
    chosen = [
        "retriever=elasticsearch",
        "generator=none",
        "rewriter=none",
        "limit=1",
        "tracker=none",
    ]
    IndexTask().execute(compose(*chosen), here)
    server.inject_faults(
        Fault("_msearch", status=503), Fault("_msearch", times=2, status=401)
    )  # something to complain of
    done = run_convrag(chosen, here)
    assert done.returncode == 3, done.stderr
    assert "Check ES_API_KEY" in done.stderr
    places = {"the terminal": (done.stdout + done.stderr).encode()}
    places |= {str(path): path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert len(places) > 5
    assert not [
        place
        for place, content in places.items()
        for secret in secrets
        if secret.encode() in content
    ]


def test_an_error_that_repeats_a_key_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ES_URL", "http://me:hunter2-planted@a,http://other:second%21@b")
    monkeypatch.setenv("ES_API_KEY", "planted-api-key-0123")
    connection = Elasticsearch().read_connection()
    message = "ApiKey planted-api-key-0123, http://me:hunter2-planted@a, second!, second%21"
    redacted = connection.redact(message)
    assert not [secret for secret in ("planted", "hunter2", "second") if secret in redacted], (
        redacted
    )


# Parts
# ------------------------------------------------------------------------------------------------------------


def submit_all(batcher: Batcher[int, int], wanted: Sequence[Sequence[int]]) -> list[Any]:
    """Submit each list from a thread of its own, all at once; return the results, or the error of
    each.
    """
    ready = threading.Barrier(len(wanted))

    def submit(items: Sequence[int]) -> Any:
        ready.wait()
        try:
            return batcher.submit(items)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(wanted)) as pool:
        return list(pool.map(submit, wanted))


def doubled(items: Sequence[int]) -> list[int | Exception]:
    return [ValueError(item) if item < 0 else 2 * item for item in items]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.lists(st.integers(-3, 30), min_size=1, max_size=3), min_size=1, max_size=12),
    st.integers(1, 8),
)
def test_everybody_gets_their_own_answers(wanted: list[list[int]], max_size: int) -> None:
    answers = submit_all(Batcher(doubled, window=0.01, max_size=max_size), wanted)
    for items, answer in zip(wanted, answers, strict=True):
        bad = [item for item in items if item < 0]
        if bad:
            assert isinstance(answer, ValueError)
            assert answer.args == (bad[0],)
        else:
            assert answer == [2 * item for item in items]


def test_a_batch_that_fails_as_a_whole_leaves_nobody_waiting() -> None:
    def broken(items: Sequence[int]) -> list[int | Exception]:
        raise OSError("broken")

    answers = submit_all(Batcher(broken, window=0.05, max_size=64), [[n] for n in range(8)])
    assert all(isinstance(answer, OSError) for answer in answers)


def test_an_interruption_of_the_sender_leaves_nobody_waiting() -> None:
    sending, interrupted = threading.Event(), []

    def interrupt(items: Sequence[int]) -> list[int | Exception]:
        sending.set()
        time.sleep(0.1)
        raise KeyboardInterrupt

    batcher = Batcher(interrupt, window=0.1, max_size=64)

    def ask(note: Callable[[BaseException], None]) -> None:
        try:
            batcher.submit([1])
        except BaseException as error:
            note(error)

    threads = [threading.Thread(target=ask, args=(interrupted.append,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=5)
    assert len(interrupted) == 4


@given(st.text(max_size=200))
def test_names_are_names_of_indexes(domain: str) -> None:
    name = build_index_name(build_alias("convrag", domain, "bm25", "0123456789abcdef0123"), 12)
    assert name == name.lower()
    assert len(name.encode()) < 255
    assert not set(name) & set('\\/*?"<>| ,#:')
    assert parse_generation(name) == 12
