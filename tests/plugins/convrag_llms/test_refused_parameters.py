"""Parameters that a model refuses: sent again without them, remembered, and said once."""

import logging
from pathlib import Path
from typing import Any

import pytest

from convrag import LLMError, Message, Prompt
from convrag.sdk.llm.structured_output import ask_json
from convrag_llm_rankers.reply_forms import GradeReply
from convrag_llms.errors import HttpError
from convrag_llms.refused_parameters import RefusedParameters, find_refused_name
from llm_client import every_option, make_client
from llm_server import Server, make_error, make_reply
from tasks import run_task

PROMPT = Prompt("answer", (Message("user", "Who was Laika?"),))
SENT = {
    "model": "m",
    "messages": [],
    "max_tokens": 512,
    "temperature": 0.0,
    "top_p": 0.9,
    "stop": ["x"],
    "seed": 1,
    "logprobs": True,
    "top_logprobs": 20,
}
MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)
TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) "
    "value is supported."
)

REFUSALS = {
    MAX_TOKENS: "max_tokens",
    TEMPERATURE: "temperature",
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one.": "top_p",
    "[{'type': 'extra_forbidden', 'loc': ['body', 'seed'], 'msg': 'Extra inputs are not permitted'}]": "seed",
    "Argument not supported on this model: stop": "stop",
    "property 'logprobs' is unsupported": "logprobs",
    'Unknown name "seed": Cannot find field.': "seed",
    "deepseek-reasoner does not support the parameter `logprobs`": "logprobs",
    "gpt-5 models don't support temperature=0.0. Only temperature=1 is supported.": "temperature",
}
"""A server's words -> the parameter that it refuses."""

OTHER_ERRORS = [
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 5 instead.",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
    "This model's maximum context length is 8192 tokens, max_tokens 512 is not supported.",
    "The model does not support images.",
    "messages: unexpected role",
]


@pytest.mark.parametrize(("message", "name"), REFUSALS.items())
def test_servers_refuse_a_parameter_in_their_own_words(message: str, name: str) -> None:
    assert find_refused_name(HttpError(400, message), SENT) == name
    assert not find_refused_name(HttpError(500, message), SENT)


@pytest.mark.parametrize("message", OTHER_ERRORS)
def test_other_errors_refuse_no_parameter(message: str) -> None:
    assert not find_refused_name(HttpError(400, message), SENT)


def test_the_parameter_that_the_server_names_counts() -> None:
    error = HttpError(400, "Not supported: see top_p", param="seed")
    assert find_refused_name(error, SENT) == "seed"


def test_names_that_replace_each_other_end() -> None:
    refused = RefusedParameters("m", "")
    sent: list[dict[str, Any]] = []

    def send(request: dict[str, Any]) -> str:
        sent.append(request)
        for name, other in (
            ("max_tokens", "max_output_tokens"),
            ("max_output_tokens", "max_tokens"),
        ):
            if name in request:
                raise HttpError(400, f"'{name}' is not supported. Use '{other}' instead.")
        return "reply"

    assert refused.ask({"model": "m", "max_tokens": 5}, send) == "reply"
    assert sent == [
        {"model": "m", "max_tokens": 5},
        {"model": "m", "max_output_tokens": 5},
        {"model": "m"},
    ]
    assert refused.describe() == [
        "m refuses max_tokens: max_output_tokens is sent instead.",
        "m refuses max_output_tokens: it is left out of requests.",
    ]


STRUCTURE = [
    (400, "This response_format type is unavailable now"),
    (400, "This model does not support response format `json_schema`."),
    (500, "failed to parse grammar"),
]
"""How servers refuse a schema."""


@pytest.mark.parametrize(("status", "message"), STRUCTURE)
def test_servers_refuse_a_schema(status: int, message: str) -> None:
    error = HttpError(status, message)
    assert find_refused_name(error, {**SENT, "response_format": {}}) == "response_format"
    assert find_refused_name(error, SENT) != "response_format"


@every_option
@pytest.mark.integration
def test_a_schema_is_tried_once(server: Server) -> None:
    server.plan_replies(
        make_error(400, STRUCTURE[0][1]), make_reply('{"grade": 7}'), make_reply('{"grade": 8}')
    )
    client = make_client(server)
    grades = [
        ask_json(client, PROMPT, GradeReply).grade,
        ask_json(client, PROMPT, GradeReply).grade,
    ]
    assert grades == [7, 8]
    sent = [request.get("response_format") for request in server.requests]
    assert sent == [
        {
            "type": "json_schema",
            "json_schema": {
                "name": "GradeReply",
                "schema": {
                    "title": "GradeReply",
                    "type": "object",
                    "properties": {"grade": {"type": "integer", "minimum": 0, "maximum": 10}},
                    "required": ["grade"],
                    "additionalProperties": False,
                },
            },
        },
        None,
        None,
    ]


@pytest.mark.integration
@pytest.mark.parametrize("option", ["openai_compatible"], indirect=True)
def test_the_preset_of_openai_asks_any_of_its_models(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    effort = "Unrecognized request argument supplied: reasoning_effort"
    server.plan_replies(
        make_error(400, effort),
        make_error(400, MAX_TOKENS, param="max_tokens", code="unsupported_parameter"),
        make_reply("A dog."),
    )
    run = ["generator=direct", "rewriter=none", "tracker=none", "metrics=[]", "limit=1"]
    done = run_task([*run, "llm=openai", "llm.model=gpt-4.1"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert server.requests[-1]["model"] == "gpt-4.1"
    assert server.requests[-1]["max_completion_tokens"] == 512
    assert server.keys[-1] == "Bearer sk-planted-0123456789"
    assert "gpt-4.1 at http" in done.stderr


def test_log_probabilities_go_together() -> None:
    refused = RefusedParameters("m", "")
    assert refused.learn(HttpError(400, "'logprobs' is unsupported"), SENT)
    assert not {"logprobs", "top_logprobs"} & refused.adapt(SENT).keys()


@every_option
@pytest.mark.integration
def test_a_request_is_sent_again_as_the_model_takes_it(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    server.plan_replies(
        make_error(400, MAX_TOKENS, param="max_tokens", code="unsupported_parameter"),
        make_error(400, TEMPERATURE, param="temperature", code="unsupported_value"),
        make_reply("A dog."),
    )
    completion = make_client(server).complete(PROMPT)
    assert (completion.text, completion.retries) == ("A dog.", 0)
    assert server.requests[-1]["max_completion_tokens"] == 512
    assert not {"max_tokens", "temperature"} & server.requests[-1].keys()

    other_stage = make_client(server, temperature=0.5, max_tokens=100)
    assert other_stage.complete(PROMPT).text == "A dog."
    assert len(server.requests) == 4, "what the model refuses is remembered"
    assert server.requests[-1]["max_completion_tokens"] == 100
    where = f"openai/local at {server.address}"
    lines = other_stage.refused.describe()
    assert lines == [
        f"{where.removeprefix('openai/') if server.option == 'openai_compatible' else where} refuses "
        f"{what}"
        for what in (
            "max_tokens: max_completion_tokens is sent instead.",
            "temperature: it is left out of requests.",
        )
    ]
    assert [line for line in lines if caplog.text.count(line) == 1] == lines


@every_option
@pytest.mark.integration
def test_what_is_refused_without_a_name_fails_once(server: Server) -> None:
    server.plan_replies(make_error(400, "Unsupported: images"))
    with pytest.raises(LLMError, match="Unsupported: images"):
        make_client(server).complete(PROMPT)
    assert len(server.requests) == 1


@pytest.mark.integration
@pytest.mark.parametrize("option", ["openai_compatible"], indirect=True)
def test_the_summary_of_a_run_says_what_was_refused(server: Server, tmp_path: Path) -> None:
    server.plan_replies(
        make_error(400, MAX_TOKENS, param="max_tokens", code="unsupported_parameter"),
        make_reply("A dog."),
    )
    run = ["generator=direct", "rewriter=none", "tracker=none", "metrics=[]", "limit=1"]
    llm = ["llm=openai_compatible", f"llm.api_base={server.address}", "llm.model=strict"]
    done = run_task([*run, *llm], tmp_path)
    assert done.returncode == 0, done.stderr
    sentence = (
        f"strict at {server.address} refuses max_tokens: max_completion_tokens is sent instead."
    )
    assert (tmp_path / "out" / "summary.md").read_text().count(sentence) == 1
