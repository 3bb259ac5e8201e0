"""/v1/responses: whole and streamed; conversations that are kept, continued, branched and copied;
what is refused.
"""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from served import QUESTION, RunningServer, serve

FOLLOW_UP = "And its far side?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    models = {
        "direct": "rewriter=last_n generator=direct",
        "other": "rewriter=none generator=direct",
    }
    with serve(tmp_path_factory.mktemp("served"), models=models) as running:
        yield running


def respond(
    server: RunningServer, input: Any = QUESTION["content"], **fields: Any
) -> httpx.Response:
    return server.http.post("/v1/responses", json={"input": input, **fields})


def list_questions(server: RunningServer, response: dict[str, Any]) -> list[str]:
    """The questions of the conversation of a response, as the page shows them."""
    id = response["id"].removeprefix("resp_").rpartition(".")[0]
    records = server.http.get(f"/api/conversations/{id}").json()["records"]
    assert [record["turn"] for record in records] == list(range(1, len(records) + 1))
    return [record["original_query"] for record in records]


def test_a_response_has_the_answer_with_its_sources(server: RunningServer) -> None:
    response = respond(server, metadata={"a": "b"}, convrag=True).json()
    assert (response["object"], response["status"], response["store"]) == (
        "response",
        "completed",
        True,
    )
    assert (response["model"], response["metadata"], response["error"]) == (
        "direct",
        {"a": "b"},
        None,
    )
    ((part,),) = [item["content"] for item in response["output"]]
    message = server.complete().json()["choices"][0]["message"]
    assert part["text"] == message["content"]
    assert [each["url"] for each in part["annotations"]] == [
        each["url_citation"]["url"] for each in message["annotations"]
    ]
    assert (
        response["usage"]["total_tokens"] == response["usage"]["input_tokens"] == 0
    )  # rules answered
    assert response["convrag"]["original_query"] == QUESTION["content"]


def test_events_build_the_response(server: RunningServer) -> None:
    whole = respond(server, store=False).json()
    blocks = respond(server, store=False, stream=True).text.strip().split("\n\n")
    events = [json.loads(block.partition("data: ")[2]) for block in blocks]
    assert [block.partition("\n")[0] for block in blocks] == [
        f"event: {event['type']}" for event in events
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds[:4] == ["created", "in_progress", "output_item.added", "content_part.added"]
    assert kinds[-4:] == ["output_text.done", "content_part.done", "output_item.done", "completed"]
    text = "".join(
        event["delta"] for event in events if event["type"] == "response.output_text.delta"
    )
    assert events[-1]["response"]["output"][0]["content"] == whole["output"][0]["content"]
    assert text == whole["output"][0]["content"][0]["text"]
    added = [event["annotation"] for event in events if "annotation" in event]
    assert added == whole["output"][0]["content"][0]["annotations"]


def test_a_response_continues_its_conversation_or_a_copy_of_its_beginning(
    server: RunningServer,
) -> None:
    first = respond(server).json()
    second = respond(server, FOLLOW_UP, previous_response_id=first["id"], convrag=True).json()
    assert "same side" in second["convrag"]["rewritten_query"]
    assert second["id"].rpartition(".")[0] == first["id"].rpartition(".")[0]
    assert list_questions(server, second) == [QUESTION["content"], FOLLOW_UP]
    unkept = respond(
        server, "Why?", previous_response_id=second["id"], store=False, convrag=True
    ).json()
    assert (unkept["store"], unkept["convrag"]["turn"]) == (False, 3)
    branch = respond(server, "How far is it?", previous_response_id=first["id"]).json()
    assert list_questions(server, branch) == [QUESTION["content"], "How far is it?"]
    other = respond(
        server, "How far is it?", previous_response_id=second["id"], model="other"
    ).json()
    assert list_questions(server, other) == [QUESTION["content"], FOLLOW_UP, "How far is it?"]
    assert list_questions(server, second) == [QUESTION["content"], FOLLOW_UP]
    again = respond(server, "And now?", previous_response_id=other["id"]).json()
    assert len(list_questions(server, again)) == 4


def test_an_input_with_its_own_history_is_kept_with_it(server: RunningServer) -> None:
    parts = [{"type": "output_text", "text": "It is tidally locked.", "annotations": []}]
    given = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": QUESTION["content"]}]},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "today", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "Monday"},
        {
            "type": "message",
            "role": "assistant",
            "id": "m",
            "status": "completed",
            "content": parts,
        },
        {"role": "user", "content": FOLLOW_UP},
    ]
    response = respond(server, given, convrag=True).json()
    assert "same side" in response["convrag"]["rewritten_query"]
    assert list_questions(server, response) == [QUESTION["content"], FOLLOW_UP]
    assert response["id"].endswith(".2")


def test_a_conversation_that_went_on_meanwhile_is_not_continued(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = respond(server).json()
    monkeypatch.setattr(server.conversations, "count_turns", lambda id: 2)
    refused = respond(server, FOLLOW_UP, previous_response_id=first["id"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conversation_changed")


@pytest.mark.parametrize(
    ("fields", "param", "status"),
    [
        ({"background": True}, "background", 400),
        ({"tools": [{"type": "web_search"}]}, "tools.0.type", 400),
        ({"tools": [{"type": "file_search", "vector_store_ids": []}]}, "tools.0.type", 400),
        ({"tool_choice": "required"}, "tool_choice", 400),
        ({"tool_choice": {"type": "function", "name": "today"}}, "tool_choice", 400),
        (
            {"text": {"format": {"type": "json_schema", "name": "a", "schema": {}}}},
            "text.format.type",
            400,
        ),
        ({"conversation": "conv_1"}, "conversation", 400),
        ({"prompt": {"id": "p"}}, "prompt", 400),
        ({"input": " "}, "input", 400),
        ({"input": []}, "input", 400),
        ({"input": [{"role": "assistant", "content": "Tides."}]}, "messages", 400),
        (
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}
                ]
            },
            None,
            400,
        ),
        ({"previous_response_id": "resp_none.1"}, "previous_response_id", 404),
        ({"previous_response_id": ""}, "previous_response_id", 404),
        ({"previous_response_id": "resp_" + "9" * 5000}, "previous_response_id", 404),
        ({"model": "gpt-5"}, "model", 404),
    ],
)
def test_what_is_not_done_is_refused_in_words(
    server: RunningServer, fields: dict[str, Any], param: str | None, status: int
) -> None:
    for stream in (False, True):
        reply = respond(server, **{"stream": stream, **fields})
        error = reply.json()["error"]
        assert (reply.status_code, error["type"]) == (status, "invalid_request_error")
        assert error["param"] == (param or "input.0.content.0.type")
        assert error["message"]
