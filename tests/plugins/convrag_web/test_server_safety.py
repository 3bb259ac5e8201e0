"""Who may ask, and what hostile requests get: an error object, never a status 500, never a line on
the terminal.
"""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from convrag.sdk.storage import DiskError, StoreUnusable
from convrag_basics.direct import DirectGenerator
from convrag_web.server import guard
from convrag_web.server.guard import Access
from convrag_web.server.reply_headers import HEADERS
from convrag_web.server.serving import list_hosts
from convrag_web.server.task import ServeTask
from served import QUESTION, RunningServer, serve

TOKEN = "a-token-of-this-test"
HOSTS = ["127.0.0.1", "localhost", "::1"]

HOSTILE_CORPUS = [
    {
        "_id": 'p1"><script>alert(1)</script>\r\nSet-Cookie: a=b',
        "text": "The Moon is made of <script>alert(1)</script> \x1b[2J cheese.",
        "title": '"><img src=x onerror=alert(1)>',
        "url": "javascript:alert(1)",
    },
    {"_id": "../../../etc/passwd", "text": "The Moon is far away.", "url": "http://[broken"},
    {
        "_id": "p3",
        "text": "The Moon has a far side.",
        "title": "Far side",
        "url": "https://example.org/?a=1&b=<2>",
    },
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("served")
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(f"{json.dumps(row)}\n" for row in HOSTILE_CORPUS))
    given = [f"dataset.corpus={corpus}", "dataset=jsonl", "generator=direct"]
    with serve(
        folder, *given, limits=ServeTask(max_body=200_000), access=Access(hosts=HOSTS)
    ) as running:
        yield running


def is_error(reply: httpx.Response, status: int) -> bool:
    assert reply.status_code == status, reply.text
    return set(reply.json()["error"]) == {"message", "type", "param", "code"}


def has_headers(reply: httpx.Response) -> bool:
    return all(reply.headers[name] == value for name, value in HEADERS.items())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'"text"',
        b"NaN",
        b'{"messages": NaN}',
        b"[" * 100_000,
        b'{"a":' * 30_000,
        b'{"messages": [' + b'{"role":' * 20_000,
        b'{"messages": [{"role": "user", "content": "a"}], "n": 1' + b"0" * 5000 + b"}",
        b'{"messages": [{"role": "user", "content": "a"}], "n": 1e999}',
        b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}',
        b"\xff\xfe\x00\x01",
        b'{"messages": [{"role": "user", "content": 5}]}',
        b'{"messages": {"role": "user", "content": "a"}}',
        b'{"messages": [[]]}',
        b'{"messages": [{"role": ["user"], "content": "a"}]}',
        b'{"model": {"a": 1}, "messages": [{"role": "user", "content": "a"}]}',
        b"\0" * 100,
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/conversations/x/turns"])
def test_a_hostile_body_is_an_error(
    server: RunningServer, body: bytes, path: str, capfd: Any
) -> None:
    reply = server.http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code in (400, 404)
    assert is_error(reply, reply.status_code)
    assert has_headers(reply)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": [{"role": "user", "content": "The Moon\\u0000 is far \\u001b[2J"}]}',
        b'{"messages": [{"role": "user", "content": "a"}], "messages": [{"role": "user", "content": "The Moon"}]}',
        b'{"messages": [{"role": "user", "content": "\\ud83c\\udf19 Moon"}], "extra": '
        + b"[" * 500
        + b"]" * 500
        + b"}",
        b'\xef\xbb\xbf{"messages": [{"role": "user", "content": "The Moon"}]}',
    ],
)
def test_odd_texts_are_answered(server: RunningServer, body: bytes) -> None:
    reply = server.http.post(
        "/v1/chat/completions", content=body, headers={"Content-Type": "application/json"}
    )
    assert reply.status_code == 200, reply.text


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_another_content_type_is_refused(server: RunningServer, kind: str) -> None:
    body = json.dumps({"messages": [QUESTION]}).encode()
    headers = {"Content-Type": kind} if kind else {}
    assert is_error(server.http.post("/v1/chat/completions", content=body, headers=headers), 415)


def test_a_body_that_is_too_large_is_refused(server: RunningServer) -> None:
    body = b" " * 200_001
    assert is_error(server.http.post("/v1/chat/completions", content=body), 413)
    chunked = server.http.post(
        "/v1/chat/completions", content=iter([body]), headers={"Content-Type": "application/json"}
    )
    assert is_error(chunked, 413)
    assert chunked.headers["connection"] == "close"


@pytest.mark.slow
def test_a_slow_body_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.3)
    with serve(tmp_path, "generator=direct", live=True) as server:
        host = f"Host: 127.0.0.1:{server.port}\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(
                f"POST /v1/chat/completions HTTP/1.1\r\n{host}Content-Length: 10\r\n\r\n12".encode()
            )
            assert b" 408 " in connection.recv(65536)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "[::1", "", "a b"]
)
def test_another_host_is_refused(server: RunningServer, host: str) -> None:
    for path in ("/", "/healthz", "/v1/models"):
        reply = server.http.get(path, headers={"Host": host})
        assert reply.status_code in (400, 421)
        assert "models" not in reply.text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:8000"])
def test_a_name_of_this_server_is_accepted(server: RunningServer, host: str) -> None:
    assert server.http.get("/healthz", headers={"Host": host}).status_code == 200


def test_hosts_are_checked_where_no_token_protects() -> None:
    assert list_hosts("127.0.0.1", []) is not None
    assert list_hosts("0.0.0.0", []) is None
    assert "chat.example.org" in (list_hosts("0.0.0.0", ["chat.example.org"]) or [])


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://[", "file://"]
)
def test_a_page_of_another_address_is_refused(server: RunningServer, origin: str) -> None:
    for method, path in (
        ("GET", "/v1/models"),
        ("POST", "/v1/chat/completions"),
        ("OPTIONS", "/v1/models"),
    ):
        reply = server.http.request(
            method, path, headers={"Origin": origin}, json={"messages": [QUESTION]}
        )
        assert is_error(reply, 403)
        assert "access-control-allow-origin" not in reply.headers


def test_the_servers_own_page_may_ask(server: RunningServer) -> None:
    assert server.http.get("/v1/models", headers={"Origin": server.address}).status_code == 200


def test_a_page_that_is_allowed_may_ask(tmp_path: Path) -> None:
    friend = "https://chat.example.org"
    access = Access(token=TOKEN, hosts=HOSTS, origins=[friend])
    with serve(tmp_path, access=access) as server:
        asked = {
            "Origin": friend,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        }
        preflight = server.http.options("/v1/chat/completions", headers=asked)
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == friend
        given = {"Origin": friend, "Authorization": f"Bearer {TOKEN}"}
        reply = server.http.get("/v1/models", headers=given)
        assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (200, friend)
        assert (
            server.http.get(
                "/v1/models", headers=given | {"Origin": "https://evil.example"}
            ).status_code
            == 403
        )


@pytest.mark.parametrize(
    "given",
    ["", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", "Bearer ÿ"],
)
def test_with_a_token_nothing_is_open_but_the_page(guarded: RunningServer, given: str) -> None:
    headers = {"Authorization": given.encode("latin-1")} if given else {}
    for method, path in (
        ("GET", "/v1/models"),
        ("POST", "/v1/chat/completions"),
        ("GET", "/api/conversations"),
        ("GET", "/api/conversations/x/document?passage=p"),
        ("GET", "/openapi.json"),
        ("GET", "/docs"),
        ("GET", "/metrics"),
        ("GET", "/nowhere"),
    ):
        reply = guarded.http.request(method, path, headers=headers)
        assert is_error(reply, 401)
        assert reply.headers["www-authenticate"] == "Bearer"
    for path in ("/", "/healthz", "/static/view/turn.css"):
        assert guarded.http.get(path, headers=headers).status_code == 200


def test_the_token_opens(guarded: RunningServer) -> None:
    for scheme in ("Bearer", "bearer"):
        assert (
            guarded.http.get(
                "/v1/models", headers={"Authorization": f"{scheme} {TOKEN}"}
            ).status_code
            == 200
        )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serve(
        tmp_path_factory.mktemp("guarded"), access=Access(token=TOKEN, hosts=HOSTS)
    ) as running:
        yield running


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server/app.py",
        "/static/page/../../server/app.py",
        "/static/page/%2e%2e/%2e%2e/server/app.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/page",
        "/static/server/app.py",
        "/static/page/index.html%00.js",
    ],
)
def test_no_path_reaches_other_files(server: RunningServer, path: str) -> None:
    reply = server.http.get(path)
    assert reply.status_code == 404
    assert "def make_app" not in reply.text


def test_every_reply_has_the_security_headers(server: RunningServer) -> None:
    paths = [
        "/",
        "/docs",
        "/healthz",
        "/metrics",
        "/v1/models",
        "/api/conversations",
        "/nowhere",
        "/openapi.json",
    ]
    for path in paths:
        reply = server.http.get(path)
        assert has_headers(reply), path
        assert "server" not in reply.headers
    policy = server.http.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    with server.http.stream(
        "POST", "/v1/chat/completions", json={"messages": [QUESTION], "stream": True}
    ) as reply:
        assert has_headers(reply)
        reply.read()


def test_hostile_passages_are_data(server: RunningServer) -> None:
    messages = [
        {"role": "user", "content": "What is the Moon made of? Cheese? Is it far, its far side?"}
    ]
    reply = server.complete(*messages, convrag=True)
    assert reply.headers["content-type"] == "application/json"
    record = reply.json()["convrag"]
    assert {context["id"] for context in record["contexts"]} == {
        row["_id"] for row in HOSTILE_CORPUS
    }
    cited = [each["url_citation"] for each in reply.json()["choices"][0]["message"]["annotations"]]
    assert cited
    assert {each.get("source_url", "https://example.org/")[:20] for each in cited} == {
        "https://example.org/"
    }
    assert all(each["urn"].startswith("urn:convrag:passage:") for each in cited)
    for each in cited:
        assert not set("<>\"'\r\n ") & set(each["url"] + each["urn"])
        page = server.http.get(each["url"])
        assert page.status_code == 200, page.text
        assert not re.search("<(script|img)|javascript:", page.text)


def test_hostile_ids_and_titles_stay_in_their_place(server: RunningServer) -> None:
    title = '"><script>alert(1)</script>\r\nSet-Cookie: a=b 🌙'
    id = server.http.post("/api/conversations", json={}).json()["id"]
    server.http.post(f"/api/conversations/{id}/turns", json={"question": title})
    for path in ("", "/export", "/export?format=json"):
        reply = server.http.get(f"/api/conversations/{id}{path}")
        assert reply.status_code == 200
        assert "set-cookie" not in reply.headers
    assert "<script>" not in server.http.get(f"/api/conversations/{id}/export").text
    for odd in ("a%0d%0aSet-Cookie:%20b", "%00", "%ff", "a" * 5000, "%F0%9F%8C%99", "..%2f.."):
        reply = server.http.get(f"/api/conversations/{odd}/export")
        assert is_error(reply, 404)
        assert "set-cookie" not in reply.headers


@pytest.mark.slow
def test_odd_requests_are_errors(tmp_path: Path, capfd: Any) -> None:
    with serve(tmp_path, live=True) as server:
        check_odd_requests(server)
    assert capfd.readouterr().err == ""


def check_odd_requests(server: RunningServer) -> None:
    host = f"Host: 127.0.0.1:{server.port}\r\n"
    for text in (
        "GARBAGE\r\n\r\n",
        f"GET / HTTP/9.9\r\n{host}\r\n",
        f"GET /healthz HTTP/1.1\r\n{host}{'X: ' + 'a' * 100_000}\r\n\r\n",
        f"POST /v1/models HTTP/1.1\r\n{host}Content-Length: -1\r\n\r\n",
        f"POST /v1/models HTTP/1.1\r\n{host}Content-Length: 9\r\nContent-Length: 8\r\n\r\n",
        f"POST /v1/models HTTP/1.1\r\n{host}Content-Length: {'9' * 50}\r\n\r\n",
        f"GET /healthz HTTP/1.1\r\n{host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        f"GET /v1/models/%ff%fe HTTP/1.1\r\n{host}Connection: close\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(text.encode())
            connection.shutdown(socket.SHUT_WR)
            received = b""
            while part := connection.recv(65536):
                received += part
        assert b" 500 " not in received[:20]
    assert server.http.get("/healthz").status_code == 200


@pytest.mark.parametrize("error", [DiskError, StoreUnusable])
def test_a_full_disk_is_503_unavailable(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*_: object) -> None:
        raise error("store.path=store cannot be written: the disk is full")

    monkeypatch.setattr(DirectGenerator, "generate", fail)
    for path, body in (
        ("/v1/chat/completions", {"messages": [QUESTION]}),
        ("/v1/responses", {"input": "Is the Moon far?"}),
    ):
        reply = server.http.post(path, json=body)
        assert is_error(reply, 503)
        assert reply.json()["error"]["code"] == "unavailable"
        assert "the disk is full" in reply.json()["error"]["message"]
    id = server.http.post("/api/conversations", json={}).json()["id"]
    events = server.http.post(f"/api/conversations/{id}/turns", json={"question": "The Moon?"})
    assert '"code": "unavailable"' in events.text


def test_pages_of_all_addresses_without_a_token_are_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ServeTask(cors=["*"])._warn_if_open(TOKEN)
    ServeTask(cors=["https://chat.example.org"])._warn_if_open("")
    assert not caplog.records
    ServeTask(cors=["*"])._warn_if_open("")
    assert "task.cors=[*] without a token" in caplog.text
