"""The original files of documents, over HTTP: only files of the data set, and nothing that runs."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from convrag_web.server.guard import Access
from convrag_web.server.reply_headers import CONTENT_SECURITY_POLICY
from convrag_web.server.task import ServeTask
from document_files import make_pdf
from served import RunningServer, serve
from web.handbook import QUESTION, write_handbook

TOKEN = "a-token-of-tests"


def write_files(folder: Path) -> Path:
    handbook = write_handbook(folder)
    (handbook / "machine.pdf").write_bytes(make_pdf([["Start."], ["Pump 9 is cleaned daily."]]))
    (handbook / "ferry.html").write_text(
        "<title>Ferry</title><script>alert(1)</script><p>The ferry leaves at noon."
    )
    (handbook / "old.txt").write_bytes("Die Fähre fährt spät.".encode("latin-1"))
    (handbook / "pictures.svg").write_text("<svg><script>alert(1)</script></svg>")
    (folder / "secret.txt").write_text("SECRET")
    (handbook / "link.txt").symlink_to(folder / "secret.txt")
    (handbook / "inner.txt").symlink_to(handbook / "notes.txt")
    return handbook


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("originals"))


@pytest.fixture(scope="module")
def server(handbook: Path) -> Iterator[RunningServer]:
    overrides = [
        f"dataset.path={handbook}",
        "generator=direct",
        "rewriter=none",
        "dataset.text=svg",
    ]
    limits = ServeTask(originals=True)
    with serve(handbook.parent, "dataset=documents", *overrides, limits=limits) as running:
        yield running


def ask(server: RunningServer, question: str, document: str) -> dict:
    """Ask, and return the document of a passage as the page gets it."""
    id = server.http.post("/api/conversations", json={}).json()["id"]
    server.http.post(f"/api/conversations/{id}/turns", json={"question": question})
    record = server.http.get(f"/api/conversations/{id}/turns/1").json()
    passage = next(
        each["id"] for each in record["contexts"] if each["metadata"]["document"] == document
    )
    reply = server.http.get(f"/api/conversations/{id}/document", params={"passage": passage})
    return reply.json()


def get_file(server: RunningServer, document: str, **changes: str):
    fields = {"model": "convrag", "domain": "default", "document": document} | changes
    return server.http.get(f"/original?{urlencode(fields)}")


def test_the_file_of_an_answers_source(server: RunningServer, handbook: Path) -> None:
    shown = ask(server, "How often is pump 9 cleaned?", "machine.pdf")
    assert shown["pages"][1]["number"] == 2
    reply = server.http.get(f"/{shown['original']}")
    assert reply.content == (handbook / "machine.pdf").read_bytes()
    assert reply.headers["Content-Type"] == "application/pdf"
    assert reply.headers["Content-Disposition"].startswith("inline")
    part = server.http.get(f"/{shown['original']}", headers={"Range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"%PDF")


@pytest.mark.parametrize(
    ("document", "content_type", "disposition"),
    [
        ("ferry.html", "text/html", "inline"),
        ("policies/leave.md", "text/plain; charset=utf-8", "inline"),
        ("rules 規則.md", "text/plain; charset=utf-8", "inline"),
        ("old.txt", "text/plain", "inline"),
        ("pictures.svg", "application/octet-stream", "attachment"),
    ],
)
def test_nothing_runs_with_the_pages_origin(
    server: RunningServer, handbook: Path, document: str, content_type: str, disposition: str
) -> None:
    reply = get_file(server, document)
    assert reply.status_code == 200
    assert reply.content == (handbook / document).read_bytes()
    assert reply.headers["Content-Type"] == content_type
    assert reply.headers["Content-Disposition"].startswith(disposition)
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    policy = reply.headers["Content-Security-Policy"].split("; ")
    assert policy[:2] == ["sandbox", "default-src 'none'"]
    assert not [each for each in policy if each.startswith("script-src")]


@pytest.mark.parametrize(
    "document",
    ["link.txt", "../secret.txt", "/etc/passwd", "policies", "", "missing.md", ".", "notes.txt\0"],
)
def test_other_files_are_not_shown(server: RunningServer, document: str) -> None:
    reply = get_file(server, document)
    assert (reply.status_code, "SECRET" in reply.text) == (404, False)


def test_other_domains_and_models_have_no_files(server: RunningServer) -> None:
    assert get_file(server, "notes.txt", domain="other").status_code == 404
    assert get_file(server, "notes.txt", model="other").status_code == 404


def test_a_file_that_became_a_link_is_not_shown(server: RunningServer, handbook: Path) -> None:
    path = handbook / "policies" / "leave.md"
    text = path.read_text(encoding="utf-8")
    path.unlink()
    path.symlink_to(handbook.parent / "secret.txt")
    try:
        assert get_file(server, "policies/leave.md").status_code == 404
    finally:
        path.unlink()
        path.write_text(text, encoding="utf-8")


def test_other_replies_keep_their_policy(server: RunningServer) -> None:
    assert server.http.get("/").headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY


def test_the_page_of_a_source_links_to_the_file(server: RunningServer) -> None:
    reply = server.complete({"role": "user", "content": "How often is pump 9 cleaned?"}).json()
    (annotation, *_) = reply["choices"][0]["message"]["annotations"]
    page = server.http.get(annotation["url_citation"]["url"]).text
    assert "document=machine.pdf#page=1" in page  # the passage begins there
    assert ">Open the file</a>" in page


def test_no_file_is_shown_by_default(handbook: Path, tmp_path: Path) -> None:
    overrides = [f"dataset.path={handbook}", "generator=direct", "rewriter=none"]
    with serve(tmp_path, "dataset=documents", *overrides) as server:
        assert ask(server, QUESTION, "policies/leave.md")["original"] is None
        assert get_file(server, "notes.txt").status_code == 404
        reply = server.complete({"role": "user", "content": QUESTION}).json()
        (annotation, *_) = reply["choices"][0]["message"]["annotations"]
        page = server.http.get(annotation["url_citation"]["url"]).text
        assert 'href="" target="_blank"' in page  # hidden by source.css


def test_the_address_of_a_file_is_signed(handbook: Path, tmp_path: Path) -> None:
    overrides = [f"dataset.path={handbook}", "generator=direct", "rewriter=none"]
    access = Access(token=TOKEN, hosts=["127.0.0.1", "localhost"])
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with serve(
        tmp_path,
        "dataset=documents",
        *overrides,
        limits=ServeTask(originals=True),
        access=access,
        headers=headers,
    ) as server:
        address = ask(server, QUESTION, "policies/leave.md")["original"]
        key = parse_qs(urlsplit(address).query)["key"][0]
        without_header = {"Authorization": ""}
        assert server.http.get(f"/{address}", headers=without_header).status_code == 200
        assert get_file(server, "policies/leave.md").status_code == 401
        assert get_file(server, "notes.txt", key=key).status_code == 401
