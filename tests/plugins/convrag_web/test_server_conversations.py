"""Conversations that are kept, over HTTP: begin, ask, show, regenerate, reset, delete, export,
list.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from convrag import Completion, Conversations, LLMError, TurnRecord
from convrag.sdk.tasks.turns import Stages
from served import RunningServer, serve

QUESTION = "Why do we always see the same side of the Moon?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    models = {"direct": "generator=direct", "last": "rewriter=last_n"}
    with serve(tmp_path_factory.mktemp("served"), models=models) as running:
        yield running


def begin(server: RunningServer, **fields: Any) -> str:
    reply = server.http.post("/api/conversations", json=fields)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["id"])


def read_events(body: str) -> list[tuple[str, Any]]:
    """Name and data of each event."""
    blocks = [
        dict(line.split(": ", 1) for line in block.split("\n"))
        for block in body.split("\n\n")
        if block
    ]
    return [(block["event"], json.loads(block["data"])) for block in blocks if "event" in block]


def ask(
    server: RunningServer, id: str, question: str = QUESTION, **fields: Any
) -> list[tuple[str, Any]]:
    reply = server.http.post(
        f"/api/conversations/{id}/turns", json={"question": question, **fields}
    )
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"].startswith("text/event-stream")
    return read_events(reply.text)


def test_a_turn_tells_its_stages_its_pieces_and_its_record(server: RunningServer) -> None:
    id = begin(server)
    told = ask(server, id)
    stages = [data["stage"] for name, data in told if name == "stage"]
    assert stages == [stage for stage in Stages._fields if stage in stages], "in their order"
    assert stages[-1] == "context", "of those that end at once, the last is told"
    changes = [data["record"] for name, data in told if name == "stage"]
    queries = [change["rewritten_query"] for change in changes if "rewritten_query" in change]
    assert [query for query in queries if query] == [QUESTION], "what has changed, alone"
    assert changes[-1]["evidence"]
    name, record = told[-1]
    assert name == "record"
    assert (
        "".join(data["text"] for kind, data in told if kind == "piece") == record["agent_response"]
    )
    assert server.http.get(f"/api/conversations/{id}/turns/1").json() == record
    checked = server.http.get(f"/api/conversations/{id}/turns/1/support").json()
    assert checked == {"unsupported": []}  # llm=extractive copies what the passages say
    assert TurnRecord.from_dict(record).answer.text == record["agent_response"]


def test_a_conversation_goes_on_and_is_shown_whole(server: RunningServer) -> None:
    id = begin(server, model="last")
    ask(server, id)
    (*_, (_, record)) = ask(server, id, "And its far side?")
    assert record["turn"] == 2
    assert "same side" in record["rewritten_query"]
    shown = server.http.get(f"/api/conversations/{id}").json()
    assert (shown["title"], shown["model"], shown["domain"], shown["turns"]) == (
        QUESTION,
        "last",
        "default",
        2,
    )
    assert [each["turn"] for each in shown["records"]] == [1, 2]
    assert shown["records"][1] == record
    assert server.conversations.records(id)[1].to_dict() == record


def test_a_regenerated_turn_takes_the_place_of_the_last(server: RunningServer) -> None:
    id = begin(server)
    ask(server, id)
    reply = server.http.post(f"/api/conversations/{id}/regenerate", json={"query": "tides"})
    name, record = read_events(reply.text)[-1]
    assert (name, record["turn"], record["rewritten_query"]) == ("record", 1, "tides")
    shown = server.http.get(f"/api/conversations/{id}").json()
    assert shown["records"] == [record]
    assert server.http.post(f"/api/conversations/{id}/regenerate").status_code == 200


def test_reset_and_delete(server: RunningServer) -> None:
    id = begin(server)
    ask(server, id)
    assert server.http.post(f"/api/conversations/{id}/reset").status_code == 204
    assert server.http.get(f"/api/conversations/{id}").json()["records"] == []
    (*_, (_, record)) = ask(server, id)
    assert record["turn"] == 1
    assert server.http.delete(f"/api/conversations/{id}").status_code == 204
    for reply in (
        server.http.get(f"/api/conversations/{id}"),
        server.http.delete(f"/api/conversations/{id}"),
    ):
        assert reply.status_code == 404
        assert reply.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nowhere", None, 404),
        ("POST", "/nowhere/turns", {"question": "a"}, 404),
        ("POST", "/nowhere/regenerate", {}, 404),
        ("POST", "/nowhere/suggestions", {}, 404),
        ("POST", "/nowhere/reset", {}, 404),
        ("GET", "/nowhere/export", None, 404),
        ("GET", "/nowhere/turns/1", None, 404),
        ("GET", "/ID/turns/9", None, 404),
        ("GET", "/ID/turns/9/support", None, 404),
        ("GET", "/ID/turns/0", None, 400),
        ("GET", "/ID/turns/one", None, 400),
        ("GET", "/ID/export?format=pdf", None, 400),
        ("GET", "?limit=0", None, 400),
        ("POST", "/ID/turns", {}, 400),
        ("POST", "/ID/turns", {"question": "  "}, 400),
        ("POST", "/ID/regenerate", {}, 409),
        ("POST", "", {"model": "gpt-5"}, 404),
        ("POST", "", {"domain": "nowhere"}, 404),
    ],
)
def test_mistakes_are_error_objects(
    server: RunningServer, method: str, path: str, body: Any, status: int
) -> None:
    path = path.replace("ID", begin(server))
    reply = server.http.request(method, f"/api/conversations{path}", json=body)
    assert reply.status_code == status, reply.text
    assert set(reply.json()["error"]) == {"message", "type", "param", "code"}


def test_conversations_are_listed_with_the_last_used_first(server: RunningServer) -> None:
    first, second = begin(server), begin(server)
    ask(server, first)
    listed = server.http.get("/api/conversations?limit=2").json()["conversations"]
    assert [each["id"] for each in listed] == [first, second]
    assert (
        server.http.get("/api/conversations?limit=1&offset=1").json()["conversations"] == listed[1:]
    )
    assert set(listed[0]) == {
        "id",
        "title",
        "model",
        "domain",
        "turns",
        "open",
        "created",
        "updated",
    }
    assert all(each["open"] for each in listed)


def test_models_are_listed_with_what_belongs_to_them(server: RunningServer) -> None:
    first, second = server.http.get("/api/models").json()["models"]
    assert (first["id"], first["domains"], first["llm"]) == ("direct", ["default"], "extractive")
    assert second["overrides"][-1] == "rewriter=last_n"
    assert len(first["examples"]) == 3


def test_suggestions(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    id = begin(server)
    path = f"/api/conversations/{id}/suggestions"
    assert server.http.post(path).json() == {"questions": []}
    ask(server, id)
    llm = SimpleNamespace(
        complete=lambda prompt: Completion("1. What are phases?\n2. How old is it?")
    )
    monkeypatch.setattr(server.models["direct"], "_llm", llm)
    assert server.http.post(path).json() == {"questions": ["What are phases?", "How old is it?"]}


def test_an_llm_that_cannot_suggest_suggests_nothing(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = begin(server)
    ask(server, id)

    def fail(*_: object) -> None:
        raise LLMError("it knows no such task")

    monkeypatch.setattr(server.models["direct"], "_llm", SimpleNamespace(complete=fail))
    assert server.http.post(f"/api/conversations/{id}/suggestions").json() == {"questions": []}


def test_exports(server: RunningServer) -> None:
    id = begin(server)
    (*_, (_, record)) = ask(server, id)
    markdown = server.http.get(f"/api/conversations/{id}/export?format=markdown")
    assert markdown.headers["content-disposition"] == f'attachment; filename="{id}.md"'
    assert markdown.text.startswith(f"# {QUESTION}\n")
    assert record["agent_response"] in markdown.text
    assert re.search(r"^- \\\[\d\\\] \w.* \(.+\)$", markdown.text, re.MULTILINE)
    whole = server.http.get(f"/api/conversations/{id}/export?format=json")
    assert whole.headers["content-disposition"] == f'attachment; filename="{id}.json"'
    assert (
        whole.json() | {"in_progress": None, "helpful": {}}
        == server.http.get(f"/api/conversations/{id}").json()
    )


def test_a_conversation_of_task_chat_goes_on_with_the_model_of_its_configuration(
    server: RunningServer,
) -> None:
    model = server.models["last"]
    for id in ("from the terminal", "a/b", ".."):
        server.conversations.open(id, "default", configuration=model.pipeline.configuration)
        path = id.replace("/", "%2F").replace("..", "%2E%2E")
        (*_, (name, _)) = ask(server, path)
        assert name == "record"
        shown = server.http.get(f"/api/conversations/{path}").json()
        listed = server.http.get("/api/conversations?limit=1").json()["conversations"]
        assert [(each["id"], each["model"]) for each in (shown, *listed)] == [(id, "last")] * 2


def test_a_conversation_of_another_configuration_is_refused(server: RunningServer) -> None:
    other = {**server.models["last"].pipeline.configuration, "retriever": {"_option_": "dense"}}
    server.conversations.open("other", "default", configuration=other, model="gone")
    reply = server.http.post("/api/conversations/other/turns", json={"question": "a"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (409, "other_configuration")
    assert "retriever=dense" in reply.json()["error"]["message"]
    assert reply.headers["x-should-retry"] == "false"
    server.conversations.open("of the terminal", "default", configuration=other)
    listed = server.http.get("/api/conversations?limit=2").json()["conversations"]
    assert [(each["id"], each["model"]) for each in listed] == [
        ("of the terminal", ""),
        ("other", "gone"),
    ]
    assert not any(each["open"] for each in listed)


def test_what_another_process_adds_is_seen(server: RunningServer, tmp_path: Path) -> None:
    id = begin(server)
    ask(server, id)
    others = Conversations(server.database)
    session = others.get(id)
    assert session is not None
    with session.lock:
        others.append(session, others.records(id)[0])
    others.close()
    (*_, (_, record)) = ask(server, id, "And its far side?")
    assert record["turn"] == 3


def test_conversations_outlive_the_server(tmp_path: Path) -> None:
    with serve(tmp_path, "generator=direct") as server:
        id = begin(server)
        ask(server, id)
    with serve(tmp_path, "generator=direct") as server:
        (*_, (_, record)) = ask(server, id, "And its far side?")
        assert record["turn"] == 2


def test_a_method_that_is_not_allowed_learns_which_are(server: RunningServer) -> None:
    reply = server.http.put("/api/conversations")
    assert reply.status_code == 405
    assert reply.headers["allow"] == "GET, POST"
    assert server.http.put("/api/conversations/x").headers["allow"] == "DELETE, GET"
