"""Requests as clients send them, written down in tests/plugins/convrag_web/recorded: those of
benchmarks/clients.py, and chores.

Of prompts that are not ours, the beginning and the form are written down; "..." stands for the
rest.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from convrag import Message
from convrag_web.server.chores import NO_MODEL, answer_chore
from convrag_web.server.errors import RequestError
from convrag_web.server.message_reading import read_messages
from convrag_web.server.openai_requests import ChatMessage
from convrag_web.server.task import ServeTask
from llm_server import Server, make_reply
from served import RunningServer, serve

RECORDED = Path(__file__).with_name("recorded")
CLIENTS: dict[str, Any] = json.loads((RECORDED / "clients.json").read_text(encoding="utf-8"))
CHORES: dict[str, Any] = json.loads((RECORDED / "chores.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serve(tmp_path_factory.mktemp("served"), "generator=direct") as running:
        yield running


@pytest.fixture
def llm() -> Iterator[Server]:
    server = Server("openai_compatible")
    server.plan_replies(make_reply("From the model [7]."))
    yield server
    server.close()


def count_turns(server: RunningServer) -> int:
    lines = server.http.get("/metrics").text.splitlines()
    return sum(
        int(float(line.split()[-1])) for line in lines if line.startswith("convrag_turns_total")
    )


@pytest.mark.parametrize("name", CLIENTS)
def test_what_clients_send_is_answered_with_sources(server: RunningServer, name: str) -> None:
    body = CLIENTS[name]["body"] | {"stream": False}
    reply = server.http.post(CLIENTS[name]["path"], json=body)
    assert reply.status_code == 200, reply.text
    if "choices" in reply.json():
        message = reply.json()["choices"][0]["message"]
        text, annotations = (
            message["content"],
            [each["url_citation"] for each in message["annotations"]],
        )
    else:
        part = reply.json()["output"][0]["content"][0]
        text, annotations = part["text"], part["annotations"]
    assert "[1]" in text
    assert annotations[0]["url"].startswith("http://127.0.0.1/source?")


@pytest.mark.parametrize("name", CHORES)
def test_a_chore_is_told_by_its_shape_and_is_no_turn(server: RunningServer, name: str) -> None:
    before = count_turns(server)
    reply = server.complete(*CHORES[name]["messages"]).json()
    assert reply["choices"][0]["message"] == {
        "role": "assistant",
        "content": CHORES[name].get("reply", NO_MODEL),
        "refusal": None,
        "annotations": [],
    }
    streamed = server.complete(*CHORES[name]["messages"], stream=True).text
    assert json.dumps(CHORES[name].get("reply", NO_MODEL), ensure_ascii=False) in streamed
    assert count_turns(server) == before


@pytest.mark.parametrize(
    "question",
    [
        "What is the title of the chat program that the team uses?",
        "Give me the titles of the reports about our conversation with the union",
        "How do I give a conversation a name in the phone system?",
        "Summarize the leave policy, please.",
        "### Task:\nWhich days may I work from home?",
        '### Task:\nRespond to the query\n<context>\n<chat_history>{ "title": "x" }</chat_history></context>\nLeave?',
        "Please create a title page for the annual report.",
    ],
)
def test_a_question_is_no_chore(question: str) -> None:
    assert (
        answer_chore([Message("system", "Name your sources."), Message("user", question)]) is None
    )


def test_a_language_model_does_chores_and_replies_plainly_without_a_search(
    tmp_path: Path, llm: Server
) -> None:
    given = [
        "llm=openai_compatible",
        "llm.model=openai/m",
        f"llm.api_base={llm.address}",
        "generator=direct",
    ]
    with serve(tmp_path, *given) as server:
        listed = [model["id"] for model in server.http.get("/v1/models").json()["data"]]
        assert listed == ["convrag", "convrag-plain"]
        assert server.http.get("/v1/models/convrag-plain").json()["id"] == "convrag-plain"
        chore = server.complete(*CHORES["Open WebUI, title"]["messages"]).json()
        assert chore["choices"][0]["message"]["content"] == "From the model [7]."
        assert chore["usage"]["total_tokens"] == 10
        question = [
            {"role": "system", "content": "Rhyme."},
            {"role": "user", "content": "How far is the Moon?"},
        ]
        plain = server.complete(*question, model="convrag-plain").json()
        assert (plain["model"], plain["choices"][0]["message"]["content"]) == (
            "convrag-plain",
            "From the model [7].",
        )
        assert (llm.requests[-1]["messages"], llm.requests[-1].get("stream")) == (question, None)
        body = {"model": "convrag-plain", "input": "How far is the Moon?", "instructions": "Rhyme."}
        response = server.http.post("/v1/responses", json=body).json()
        assert (response["store"], response["output"][0]["content"][0]["text"]) == (
            False,
            "From the model [7].",
        )
        refused = server.http.post(
            "/v1/responses", json=body | {"previous_response_id": response["id"]}
        )
        assert (refused.status_code, refused.json()["error"]["param"]) == (
            400,
            "previous_response_id",
        )
        assert count_turns(server) == 0
        assert server.http.get("/api/conversations").json() == {"conversations": []}


def test_attachments_are_refused_or_read_past() -> None:
    parts: Any = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:"}},
    ]
    message = ChatMessage(role="user", content=parts)
    assert read_messages([message], ServeTask(attachments="ignore")) == [
        Message("user", "What is this?")
    ]
    with pytest.raises(
        RequestError, match=r"input\.0\.content\.1\.type: image_url .*task\.attachments=ignore"
    ):
        read_messages([message], ServeTask(), "input")
    files = '### Task:\nRespond to the user query ...\n\n<context>\n<source id="1">A file.</source>\n</context>\n'
    message = ChatMessage(
        role="user", content=f"{files}\nWhat is this?"
    )  # as Open WebUI sends files
    assert read_messages([message], ServeTask(attachments="ignore")) == [
        Message("user", "What is this?")
    ]
    with pytest.raises(
        RequestError, match=r"messages\.0\.content: files .*task\.attachments=ignore"
    ):
        read_messages([message], ServeTask())
