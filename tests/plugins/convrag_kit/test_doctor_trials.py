"""task=doctor asks the chosen models what they can do."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from convrag.config.compose import compose
from convrag_kit.doctor import DoctorTask, examine
from llm_server import Server, Step, make_error, make_reply


@pytest.fixture
def server() -> Iterator[Server]:
    with closing(Server("openai_compatible")) as running:
        yield running


def ask(server: Server, here: Path, **options: Any) -> list[tuple[str, str]]:
    config = compose(
        "tracker=none",
        "generator=direct",
        "rewriter=none",
        "llm=openai_compatible",
        "llm.model=m",
        "llm.retries=0",
        f"llm.api_base={server.address}",
    )
    parts = {title: list(found) for title, found in examine(config, **options)}
    return [(each.level, each.message) for each in parts.get("the models, asked", [])]


def test_what_a_model_can_do_is_printed(server: Server, here: Path) -> None:
    json_reply = make_reply('{"number": 4}')
    likely = make_reply("yes")
    likely["choices"][0]["logprobs"] = {
        "content": [
            {"token": "yes", "logprob": -0.1, "top_logprobs": [{"token": "yes", "logprob": -0.1}]}
        ]
    }
    server.plan_replies(make_reply("yes"), make_reply("1 2 3 4 5"), json_reply, likely)
    found = ask(server, here)
    assert {level for level, _ in found} == {"ok"}
    said = "\n".join(message for _, message in found)
    assert "s for a token" in said
    assert "streaming: " in said
    assert "pieces in" in said
    assert "JSON by a schema: yes" in said
    assert "(logprobs): yes" in said
    assert "thoughts before a reply: none seen" in said
    assert [request["max_tokens"] for request in server.requests] == [1, 32, 64, 1]
    assert server.requests[2]["response_format"]["type"] == "json_schema"


def test_a_model_that_thinks_and_refuses(server: Server, here: Path) -> None:
    refusal = make_error(
        400,
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        param="max_tokens",
    )
    thought = make_reply("<think>Four legs.</think>A dog has four.")
    server.plan_replies(refusal, make_reply("<think>Hm", finish="length"), thought)
    said = "\n".join(message for _, message in ask(server, here))
    assert "thoughts before a reply: yes" in said
    assert "JSON by a schema: no" in said
    assert "(logprobs): no" in said
    assert "max_completion_tokens" in said


def test_a_model_that_gives_no_reply_is_in_the_way(server: Server, here: Path) -> None:
    server.plan_replies(make_error(401, "wrong key"))
    ((level, message),) = ask(server, here)
    assert level == "fail"
    assert "status 401" in message
    assert len(server.requests) == 1


def test_nothing_is_asked_on_request(server: Server, here: Path) -> None:
    assert ask(server, here, ask=False) == []
    assert server.requests == []


def test_a_page_in_place_of_a_reply_is_told(server: Server, here: Path) -> None:
    server.plan_replies(Step(200, b"<html><body>Welcome</body></html>"))
    ((level, message),) = ask(server, here)
    assert level == "fail"
    assert "not a JSON object" in message


def test_rules_are_not_asked(here: Path) -> None:
    config = compose("tracker=none", "generator=direct", "rewriter=none")
    parts = {title: list(found) for title, found in examine(config)}
    assert parts["the models, asked"] == []
    assert DoctorTask().ask
