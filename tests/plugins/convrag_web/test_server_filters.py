"""Filters by the fields of passages, in each request that asks a question."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from served import RunningServer, serve

QUESTION = "How does it stop?"
OLD = "product=kettle and year<2022"
WRONG = "color=red"
MANUALS = [
    {"_id": "k1", "text": "The kettle stops by itself.", "product": "kettle", "year": 2021},
    {"_id": "k2", "text": "The kettle stops after a beep.", "product": "kettle", "year": 2023},
    {"_id": "p1", "text": "The pot never stops leaking.", "product": "pot", "year": 2021},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("filters")
    corpus = folder / "manuals.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in MANUALS))
    data = ["dataset=jsonl", f"dataset.corpus={corpus}"]
    with serve(folder, *data, "rewriter=none", "retriever=bm25", "tracker=none") as running:
        yield running


def list_found(record: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in record["contexts"]]


def read_record(reply: httpx.Response) -> dict[str, Any]:
    """The record at the end of a turn's events."""
    *_, last = [line for line in reply.text.splitlines() if line.startswith("data: ")]
    return json.loads(last.removeprefix("data: "))


def test_a_chat_completion(server: RunningServer) -> None:
    question = {"role": "user", "content": QUESTION}
    found = server.complete(question, filter=OLD, convrag=True).json()["convrag"]
    assert list_found(found) == ["k1"]
    everything = server.complete(question, convrag=True).json()["convrag"]
    assert sorted(list_found(everything)) == ["k1", "k2", "p1"]


def test_a_response_that_is_stored_and_one_that_is_not(server: RunningServer) -> None:
    for store in (True, False):
        body = {"input": QUESTION, "filter": OLD, "convrag": True, "store": store}
        reply = server.http.post("/v1/responses", json=body)
        assert list_found(reply.json()["convrag"]) == ["k1"]


def test_a_turn_and_the_same_again_without_the_filter(server: RunningServer) -> None:
    id = server.http.post("/api/conversations", json={}).json()["id"]
    asked = {"question": QUESTION, "filter": OLD}
    record = read_record(server.http.post(f"/api/conversations/{id}/turns", json=asked))
    assert list_found(record) == ["k1"]
    assert "kettle" in json.dumps(record["queries"])
    again = f"/api/conversations/{id}/regenerate"
    assert list_found(read_record(server.http.post(again, json={"filter": "year=2023"}))) == ["k2"]
    assert len(list_found(read_record(server.http.post(again, json={})))) == 3


def test_a_filter_that_the_corpus_cannot_obey_is_refused(server: RunningServer) -> None:
    question = {"role": "user", "content": QUESTION}
    reply = server.complete(question, filter=WRONG)
    assert reply.status_code == 400
    message = reply.json()["error"]["message"]
    assert "color" in message
    assert "product" in message
    id = server.http.post("/api/conversations", json={}).json()["id"]
    turn = {"question": QUESTION, "filter": "year>="}
    reply = server.http.post(f"/api/conversations/{id}/turns", json=turn)
    assert reply.status_code == 400
    assert "character" in reply.json()["error"]["message"]
    assert server.http.get(f"/api/conversations/{id}").json()["records"] == []


def test_a_filter_is_no_longer_than_two_thousand_characters(server: RunningServer) -> None:
    question = {"role": "user", "content": QUESTION}
    reply = server.complete(question, filter=f'product="{"a" * 2000}"')
    assert reply.status_code == 400
    assert "filter" in reply.json()["error"]["message"]
