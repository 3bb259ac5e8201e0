"""OpenAI's protocol: completions, chunks, models, errors, and messages of odd shapes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from convrag import LLMError
from convrag.sdk.llm.streaming import current_listener
from convrag_web.server.message_reading import make_question, read_messages
from convrag_web.server.openai_requests import CompletionRequest
from convrag_web.server.task import ServeTask
from served import QUESTION, RunningServer, serve


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("served")
    models = {"direct": "generator=direct", "last/n": "rewriter=last_n generator=direct"}
    with serve(
        folder, models=models, limits=ServeTask(max_messages=1500, max_characters=5000)
    ) as running:
        yield running


def events(body: str) -> list[Any]:
    """The data of the events of a stream; the last one is not JSON."""
    lines = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_an_answer_has_citations_at_the_places_of_its_marks(server: RunningServer) -> None:
    reply = server.complete().json()
    assert reply["object"] == "chat.completion"
    assert reply["model"] == "direct"
    (choice,) = reply["choices"]
    message = choice["message"]
    assert (choice["finish_reason"], message["role"], message["refusal"]) == (
        "stop",
        "assistant",
        None,
    )
    assert message["annotations"]
    for annotation in message["annotations"]:
        cited = annotation["url_citation"]
        mark = message["content"][cited["start_index"] : cited["end_index"]]
        assert mark[0] + mark[-1] == "[]"
        assert cited["urn"].startswith("urn:convrag:passage:")
        assert cited["title"]
    usage = reply["usage"]
    assert (
        usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] == 0
    )  # rules answered
    assert "convrag" not in reply


def test_the_record_comes_where_it_is_asked_for(server: RunningServer) -> None:
    record = server.complete(convrag=True).json()["convrag"]
    assert record["original_query"] == QUESTION["content"]
    assert record["contexts"]
    assert record["timings"]["retriever"] > 0


def test_chunks_make_the_answer(server: RunningServer) -> None:
    whole = server.complete().json()
    body = server.complete(stream=True, convrag=True, stream_options={"include_usage": True}).text
    chunks = events(body)
    assert {(chunk["id"], chunk["object"]) for chunk in chunks} == {
        (chunks[0]["id"], "chat.completion.chunk")
    }
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
    assert deltas[0]["role"] == "assistant"
    text = "".join(delta.get("content", "") for delta in deltas)
    assert text == whole["choices"][0]["message"]["content"]
    (annotations,) = [delta["annotations"] for delta in deltas if "annotations" in delta]
    assert annotations == whole["choices"][0]["message"]["annotations"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[-3:-1]] == [None, "stop"]
    assert len(chunks[-2]["convrag"]["agent_response"]) == len(
        text
    )  # its citations have other numbers
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == whole["usage"]
    assert {chunk["usage"] is None for chunk in chunks[:-1]} == {True}


def test_a_turn_that_fails_in_the_midst_ends_its_stream_with_an_error(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        listener = current_listener()
        assert listener
        listener("The Moon is ")
        raise LLMError("the model is out")

    monkeypatch.setattr(server.models["direct"].pipeline.stages.generator, "generate", fail)
    body = server.complete(stream=True).text
    *_, piece, last = (json.loads(line) for line in body.split("data: ")[1:])
    assert piece["choices"][0]["delta"]["content"] == "The Moon is"
    assert last["error"]["code"] == "turn_failed"
    assert "[DONE]" not in body


def test_models_are_listed_and_shown(server: RunningServer) -> None:
    listed = server.http.get("/v1/models").json()
    assert [model["id"] for model in listed["data"]] == ["direct", "last/n"]
    for name in ("last/n", "last%2Fn"):
        assert server.http.get(f"/v1/models/{name}").json() == listed["data"][1]
    assert server.complete(model="last/n").json()["model"] == "last/n"


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"n": 2}, "n", "unsupported_parameter"),
        ({"tool_choice": "required"}, "tool_choice", "unsupported_parameter"),
        (
            {"tool_choice": {"type": "function", "function": {"name": "f"}}},
            "tool_choice",
            "unsupported_parameter",
        ),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required"}}},
            "tool_choice",
            "unsupported_parameter",
        ),
        ({"functions": [{}]}, "functions", "unsupported_parameter"),
        (
            {"response_format": {"type": "json_object"}},
            "response_format.type",
            "unsupported_parameter",
        ),
        ({"logprobs": True}, "logprobs", "unsupported_parameter"),
        ({"top_logprobs": 3}, "top_logprobs", "unsupported_parameter"),
        ({"audio": {"voice": "alloy"}}, "audio", "unsupported_parameter"),
        ({"modalities": ["text", "audio"]}, "modalities.1", "unsupported_parameter"),
        ({"stream": "sometimes"}, "stream", None),
        ({"messages": []}, "messages", None),
        ({"messages": [{"role": "user", "content": " \n"}]}, "messages.0.content", None),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
            "messages.0.content",
            None,
        ),
        ({"messages": [QUESTION, {"role": "assistant", "content": "Tides."}]}, "messages", None),
        ({"messages": [{"role": "system", "content": "Be brief."}]}, "messages", None),
        ({"messages": [{"role": "judge", "content": "4"}, QUESTION]}, "messages.0.role", None),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": "data:"}}],
                    }
                ]
            },
            "messages.0.content.0.type",
            "unsupported_parameter",
        ),
        (
            {"messages": [{"role": "user", "content": "a" * 5001}]},
            "messages.0.content",
            "text_too_long",
        ),
        ({"messages": [QUESTION] * 1501}, "messages", "too_many_messages"),
    ],
)
def test_what_is_not_supported_is_an_error_that_names_it(
    server: RunningServer, fields: dict[str, Any], param: str, code: str | None
) -> None:
    for stream in (False, True):
        reply = server.http.post(
            "/v1/chat/completions", json={"messages": [QUESTION], "stream": stream} | fields
        )
        error = reply.json()["error"]
        assert (reply.status_code, error["type"]) == (400, "invalid_request_error")
        assert (error["param"], error["code"]) == (param, code)
        assert param.partition(".")[0] in error["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {
            "n": 1,
            "tools": [{"type": "function"}],
            "tool_choice": "auto",
            "logprobs": False,
            "response_format": {"type": "text"},
            "modalities": ["text"],
        },
        {
            "temperature": 0.3,
            "top_p": 1,
            "max_tokens": 5,
            "stop": ["."],
            "seed": 1,
            "user": "me",
            "logit_bias": {},
        },
        {
            "n": None,
            "tools": None,
            "stream": None,
            "response_format": None,
            "stream_options": None,
            "store": False,
        },
        {"a_field_of_the_future": {"deep": [1]}},
    ],
)
def test_what_does_no_harm_is_ignored(server: RunningServer, fields: dict[str, Any]) -> None:
    reply = server.complete(**fields)
    assert reply.status_code == 200, reply.text
    assert (
        reply.json()["choices"][0]["message"] == server.complete().json()["choices"][0]["message"]
    )


def test_an_unknown_model_is_not_found(server: RunningServer) -> None:
    for reply in (server.complete(model="gpt-5"), server.http.get("/v1/models/gpt-5")):
        assert reply.status_code == 404
        assert reply.json()["error"]["code"] == "model_not_found"


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/nothing", 404), ("PUT", "/v1/models", 405)]
)
def test_errors_of_paths_and_methods_are_error_objects(
    server: RunningServer, method: str, path: str, status: int
) -> None:
    reply = server.http.request(method, path)
    assert reply.status_code == status
    assert reply.json()["error"]["message"]


USER, ASSISTANT, CALLS = "user", "assistant", ("assistant", "I look it up.", "calls")


@pytest.mark.parametrize(
    ("messages", "history", "question"),
    [
        ([(USER, "a")], [], "a"),
        ([(USER, "a"), (ASSISTANT, "b"), (USER, "c")], [("a", "b")], "c"),
        (
            [("system", "s"), (USER, "a"), (ASSISTANT, "b"), ("developer", "d"), (USER, "c")],
            [("a", "b")],
            "c",
        ),
        ([(USER, "a"), ("system", "s")], [], "a"),
        ([(USER, "a"), (USER, "b")], [("a", "")], "b"),
        ([(ASSISTANT, "Hello!"), (USER, "a")], [], "a"),
        ([(USER, "a"), (ASSISTANT, "b"), (ASSISTANT, "c"), (USER, "d")], [("a", "b\n\nc")], "d"),
        ([(USER, "a"), (ASSISTANT, ""), (USER, "d")], [("a", "")], "d"),
        ([(USER, "a"), (ASSISTANT, None), (USER, "d")], [("a", "")], "d"),
        ([(USER, "a"), (ASSISTANT, "Hm.</think>\n\nb"), (USER, "c")], [("a", "b")], "c"),
        ([(USER, [("one",), ("two",)])], [], "one\n\ntwo"),
        (
            [
                (USER, "a"),
                CALLS,
                ("tool", "4"),
                (ASSISTANT, "b"),
                (USER, "c"),
                CALLS,
                ("tool", "5"),
            ],
            [("a", "b")],
            "c",
        ),
        (
            [(USER, "a"), (ASSISTANT, "b [1]\n\n**Sources**\n\n1. [t](u): w"), (USER, "c")],
            [("a", "b [1]")],
            "c",
        ),
    ],
)
def test_messages_are_the_history(
    messages: list[Any], history: list[tuple[str, str]], question: str
) -> None:
    def content(given: Any) -> Any:
        return (
            [{"type": "text", "text": text} for (text,) in given]
            if isinstance(given, list)
            else given
        )

    rows = [
        {"role": role, "content": content(given), "tool_calls": [{"id": "1"}] * len(calls)}
        for role, given, *calls in messages
    ]
    request = CompletionRequest.model_validate({"model": "m", "messages": rows})
    read = read_messages(request.messages, ServeTask())
    made = make_question(read, "c", "d")
    assert [(turn.question, turn.answer) for turn in made.history] == history
    assert (made.text, made.number, made.turn_id) == (
        question,
        len(history) + 1,
        f"c<::>{len(history) + 1}",
    )
    hidden = make_question(read, "c", "d", hide_history=True)
    assert (hidden.history, hidden.number) == ((), len(history) + 1)


def test_a_follow_up_is_rewritten_with_the_history_of_the_messages(server: RunningServer) -> None:
    history = [QUESTION, {"role": "assistant", "content": "It is tidally locked."}]
    follow_up = {"role": "user", "content": "And its far side?"}
    record = server.complete(*history, follow_up, model="last/n", convrag=True).json()["convrag"]
    assert "same side" in record["rewritten_query"]
    assert record["turn"] == 2
