"""The document of a passage, over HTTP: what a conversation has found, and nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

import httpx

from convrag import Document, Passage
from convrag.sdk.data.document_passages import cut_passage
from convrag.sdk.types import Heading
from convrag_web.server import document_view
from served import RunningServer, serve
from web.handbook import LEAVE, QUESTION, write_handbook


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_handbook(tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="module")
def server(handbook: Path) -> Iterator[RunningServer]:
    models = {
        "handbook": f"dataset=documents dataset.path={handbook} generator=direct",
        "sample": "generator=direct",
    }
    with serve(handbook.parent, models=models) as running:
        yield running


def ask(server: RunningServer, model: str, question: str) -> tuple[str, dict[str, Any]]:
    """Begin a conversation; return its id and its first record."""
    id = server.http.post("/api/conversations", json={"model": model}).json()["id"]
    reply = server.http.post(f"/api/conversations/{id}/turns", json={"question": question})
    assert reply.status_code == 200, reply.text
    return id, server.http.get(f"/api/conversations/{id}/turns/1").json()


def open_document(server: RunningServer, id: str, passage: str) -> httpx.Response:
    return server.http.get(f"/api/conversations/{id}/document", params={"passage": passage})


def test_the_document_of_a_passage_is_shown_with_the_passage_in_it(server: RunningServer) -> None:
    id, record = ask(server, "handbook", QUESTION)
    best = record["contexts"][0]
    assert best["metadata"]["place"] == "policies/leave.md, 'Parental leave'"
    shown = open_document(server, id, best["id"]).json()
    assert (shown["id"], shown["text"], shown["first"]) == ("policies/leave.md", LEAVE, 0)
    assert shown["last"] == shown["length"] == len(LEAVE)
    assert LEAVE[shown["passage"]["start"] : shown["passage"]["end"]] == best["text"]
    assert [(each["level"], each["text"]) for each in shown["headings"]] == [
        (1, "Leave"),
        (2, "Parental leave"),
        (2, "Sick leave"),
    ]
    assert [LEAVE[each["start"] :].split("\n")[0] for each in shown["headings"]][
        1
    ] == "## Parental leave"


def test_names_in_any_script_are_found(server: RunningServer) -> None:
    id, record = ask(server, "handbook", "What is rule 37 about?")
    passage = next(
        each for each in record["contexts"] if each["metadata"]["document"] == "rules 規則.md"
    )
    assert open_document(server, id, passage["id"]).json()["id"] == "rules 規則.md"


def test_what_the_conversation_has_not_found_is_not_shown(server: RunningServer) -> None:
    id, record = ask(server, "handbook", "printer?")
    found = {each["id"] for each in record["contexts"]}
    assert "policies/leave.md#2" not in found
    for passage in (
        "policies/leave.md#2",
        "policies/leave.md",
        "../secret.txt",
        "/etc/passwd",
        "notes.txt",
        "x" * 5_000,
    ):
        reply = open_document(server, id, passage)
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found"), passage
    assert open_document(server, "nobody", "notes.txt#1").status_code == 404
    assert server.http.get(f"/api/conversations/{id}/document").status_code == 400
    assert open_document(server, id, "").status_code == 400


def test_a_passage_of_no_document_is_said(server: RunningServer) -> None:
    id, record = ask(server, "sample", "Why do we always see the same side of the Moon?")
    reply = open_document(server, id, record["contexts"][0]["id"])
    assert (reply.status_code, reply.json()["error"]["message"]) == (
        404,
        "this passage was not cut from a document",
    )


def test_a_document_that_is_gone_is_said(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, record = ask(server, "handbook", QUESTION)
    monkeypatch.setattr(server.models["handbook"].data.dataset, "document", lambda domain, id: None)
    reply = open_document(server, id, record["contexts"][0]["id"])
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "no_document")


def test_names_and_citations_of_passages_are_places(server: RunningServer) -> None:
    id, record = ask(server, "handbook", QUESTION)
    (cited,) = (each for each in record["evidence"] if each["id"] == record["citations"][0])
    exported = server.http.get(f"/api/conversations/{id}/export").text
    assert f"- \\[{cited['number']}\\] policies/leave.md, 'Parental leave'" in exported
    reply = server.complete({"role": "user", "content": QUESTION}, model="handbook").json()
    (annotation, *_) = reply["choices"][0]["message"]["annotations"]
    assert annotation["url_citation"]["title"] == "policies/leave.md, 'Parental leave'"


TEXT = "# One\n\nfirst\n\n# Two\n\nsecond\n"
DOCUMENT = Document(
    "a.md", TEXT, headings=(Heading(0, 1, "One"), Heading(14, 1, "Two")), pages=(0, 14)
)


def test_a_passage_that_has_moved_is_found_and_one_that_is_gone_is_not() -> None:
    passage = cut_passage(DOCUMENT, TEXT.index("second"), TEXT.index("second") + 6, 2)
    moved = Document("a.md", f"New.\n\n{TEXT}")
    start = moved.text.index("second")
    assert document_view.show_document(moved, passage)["passage"] == {
        "start": start,
        "end": start + 6,
    }
    assert document_view.show_document(Document("a.md", "other"), passage)["passage"] is None
    odd = Passage("a#1", "second", metadata={"document": "a.md", "start": "x", "end": None})
    assert document_view.show_document(DOCUMENT, odd)["passage"] == {
        "start": TEXT.index("second"),
        "end": len(TEXT) - 1,
    }


def test_of_a_very_long_document_the_text_around_the_passage_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(document_view, "MAX_CHARACTERS", 12)
    start = TEXT.index("second")
    shown = document_view.show_document(DOCUMENT, cut_passage(DOCUMENT, start, start + 6, 2))
    assert (shown["first"], shown["last"], shown["length"]) == (15, 27, 28)
    assert shown["text"] == TEXT[15:27]
    assert shown["text"][shown["passage"]["start"] : shown["passage"]["end"]] == "second"
    assert (shown["headings"], shown["pages"]) == ([], [])
