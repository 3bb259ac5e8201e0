"""Replies that are too long, cut, empty to the eye, or an error page."""

import gzip
import json
import re
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from convrag import Completion, LLMError, Message, Prompt
from convrag_llms.error_messages import MAX_LENGTH, shorten_error
from convrag_llms.litellm_llm import LiteLLM
from llm_client import every_option, make_client
from llm_server import Server, Step, make_reply
from tasks import run_task

pytest.importorskip("litellm")
from convrag_llms.connections import MAX_ERROR_BYTES
from convrag_llms.errors import MAX_REPLY_BYTES
from convrag_llms.reply import ReplyReader, is_visible

pytestmark = pytest.mark.integration

PROMPT = Prompt("answer", (Message("user", "Who was Laika?"),))
HTML = (
    "<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>p {color: red}</style>"
    f"<script>alert('x')</script></head><body><h1>Bad gateway</h1>{'<p>The upstream server is down.</p>' * 4000}</body>"
)


def ask(server: Server, **parameters: Any) -> Completion:
    return make_client(server, **parameters).complete(PROMPT)


def make_body(megabytes: int) -> bytes:
    return json.dumps(make_reply("x" * (megabytes * 2**20))).encode()


def deflate_raw(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


ENCODERS = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress, "Deflate": deflate_raw}


@every_option
@pytest.mark.parametrize("encoding", ENCODERS)
class TestLimit:
    def step(self, body: bytes, encoding: str) -> Step:
        headers = (("content-encoding", encoding),) if encoding else ()
        return Step(body=ENCODERS[encoding](body), headers=headers)

    def test_a_reply_that_is_too_long_fails_once_and_says_so(
        self, server: Server, encoding: str
    ) -> None:
        server.plan_replies(self.step(make_body(20), encoding))
        with pytest.raises(LLMError) as failure:
            ask(server)
        assert f"openai/local at {server.address}" in str(failure.value)
        assert "the reply is longer than 10 MB" in str(failure.value)
        assert "not asked again" in str(failure.value)
        assert len(server.requests) == 1


@every_option
def test_a_bomb_takes_no_memory(server: Server) -> None:
    ask(server)
    packed = gzip.compress(b"x" * (300 * 2**20), 9)
    server.plan_replies(Step(body=packed, headers=(("content-encoding", "gzip"),)))
    tracemalloc.start()
    try:
        with pytest.raises(LLMError, match="longer than 10 MB"):
            ask(server)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * MAX_REPLY_BYTES


@every_option
def test_a_body_that_cannot_be_decompressed_is_an_error(server: Server) -> None:
    server.plan_replies(Step(body=make_body(1), headers=(("content-encoding", "gzip"),)))
    with pytest.raises(
        LLMError, match=r"gave no reply \(status 502\): what it sent cannot be decompressed"
    ):
        ask(server, retries=0)


@pytest.mark.parametrize("provider", ["anthropic/claude-sonnet-4-5", "ollama_chat/llama3"])
def test_the_limit_holds_for_every_provider(
    server: Server, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "sk-123456")
    server.plan_replies(make_reply("x" * (20 * 2**20)))
    with pytest.raises(LLMError, match="longer than 10 MB"):
        ask(server, model=provider, api_base=f"http://127.0.0.1:{server.port}", api_key_env="A_KEY")
    assert len(server.requests) == 1


def test_a_reply_that_is_too_long_counts_against_the_cost_limit(server: Server) -> None:
    server.plan_replies(make_reply("x" * (20 * 2**20)))
    stage = LiteLLM(model="openai/gpt-4", api_base=server.address, max_cost_usd=1)
    with pytest.raises(LLMError):
        stage.complete(PROMPT)
    assert stage.limits.budget.spent > 512 * 6e-5


@every_option
@pytest.mark.parametrize("status", [200, 400, 502])
def test_an_html_page_becomes_its_title_and_text(server: Server, status: int) -> None:
    server.plan_replies(Step(status, HTML.encode(), (("content-type", "text/html"),)))
    with pytest.raises(LLMError) as failure:
        ask(server, retries=0)
    message = str(failure.value)
    assert "502 Bad Gateway Bad gateway The upstream server is down." in message
    assert not {"<", "alert", "color"} & set(message.split())
    assert "<" not in message
    assert len(message) < 700


@every_option
def test_a_long_error_is_cut_and_keeps_its_status(server: Server) -> None:
    body = {"error": {"message": "no " * 10 * MAX_ERROR_BYTES}}
    server.plan_replies(Step(401, body))
    with pytest.raises(LLMError) as failure:
        ask(server)
    assert failure.value.status == 401
    assert len(str(failure.value)) < 700
    assert len(server.requests) == 1


@given(st.text(alphabet=st.sampled_from("<>/!-html bodyscriptitle&#;'\"= \n"), max_size=300))
def test_any_page_is_shortened_to_a_line(text: str) -> None:
    short = shorten_error(f"error: <html>{text}")
    assert "\n" not in short
    assert len(short) <= MAX_LENGTH + len(" ...")


@every_option
@pytest.mark.parametrize(
    "text", ["\u200b\u200d\ufeff", " \n\t", "\x00\x07\x1b", "\u2060\u00ad\u202e", "\u3164\u2800"]
)
def test_a_reply_that_shows_nothing_is_empty(server: Server, text: str) -> None:
    server.plan_replies(make_reply(text), make_reply("A dog."))
    completion = ask(server)
    assert (completion.text, completion.retries) == ("A dog.", 1)


@every_option
@pytest.mark.parametrize("count", ["1e400", "-1e400", "NaN", "1e30", "true", '"many"', "[]"])
def test_a_number_of_tokens_that_is_none_costs_no_reply(server: Server, count: str) -> None:
    """They are estimated, as where the server counts none."""
    body = json.dumps(make_reply("A dog."))
    for name in ("prompt_tokens", "completion_tokens"):
        body = re.sub(rf'"{name}": \d+', f'"{name}": {count}', body)
    assert count in body
    server.plan_replies(Step(body=body.encode()))
    completion = ask(server, retries=0)
    assert completion.text == "A dog."
    assert 0 < completion.completion_tokens < 100
    assert 0 < completion.prompt_tokens < 100


@every_option
@pytest.mark.parametrize("content", [None, "", [{"type": "refusal", "refusal": "I cannot."}]])
def test_a_refusal_is_the_text(server: Server, content: Any) -> None:
    reply = make_reply("x")
    reply["choices"][0]["message"] |= {"content": content, "refusal": "I cannot."}
    server.plan_replies(reply)
    assert ask(server, retries=0).text == "I cannot."


def test_probabilities_that_are_no_numbers_are_left_out() -> None:
    likely = [{"token": "yes", "logprob": -0.1}, {"token": "no", "logprob": float("-inf")}]
    reader = ReplyReader("m")
    choice = {"message": {"content": "yes"}, "logprobs": {"content": [{"top_logprobs": likely}]}}
    reader.read_whole({"choices": [choice]})
    assert reader.make_reply(None).first_words == {"yes": -0.1}


@pytest.mark.parametrize("text", ["a", "\u200ba", "犬", "🚀", "\ue000", "-", "1", "é"])
def test_one_that_shows_a_character_is_not(text: str) -> None:
    assert is_visible(text)


@every_option
@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
def test_the_reason_of_the_end_is_kept(server: Server, reason: str) -> None:
    server.plan_replies(make_reply("A dog that", reason))
    assert ask(server).finish_reason == reason


@every_option
@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("length", "bigger llm.max_tokens"),
        ("content_filter", "content filter"),
        ("tool_calls", "It called a tool"),
    ],
)
def test_an_empty_reply_is_explained_by_its_reason(
    server: Server, reason: str, advice: str
) -> None:
    server.plan_replies(make_reply(None, reason))
    with pytest.raises(LLMError, match=advice):
        ask(server, retries=0)


def test_a_run_counts_the_replies_that_were_cut(server: Server, tmp_path: Path) -> None:
    server.plan_replies(
        make_reply("It is a", "length"),
        make_reply("It is", "content_filter"),
        make_reply("It is it."),
    )
    command = [
        "llm=openai_compatible",
        "llm.model=openai/x",
        f"llm.api_base={server.address}",
        "workers=1",
    ]
    command += ["generator=direct", "rewriter=none", "limit=1", "hydra.run.dir=out", "tracker=none"]
    for _ in range(2):  # the second time, all replies are reused
        done = run_task(command, tmp_path)
        assert (
            "1 reply was cut at max_tokens (generator 1): raise llm.max_tokens, or the stage's own."
            in done.stdout
        )
        assert "1 reply was ended by the provider's content filter (generator 1)" in done.stdout
    (records,) = (tmp_path / "out/intermediate").glob("*.jsonl")
    usage = [
        json.loads(line)["usage"]["generator"]
        for line in records.read_text(encoding="utf-8").splitlines()
    ]
    assert [each["cut"] for each in usage[:3]] == [1, 0, 0]
    assert [each["filtered"] for each in usage[:3]] == [0, 1, 0]


@pytest.mark.slow
def test_first_use_imports_do_not_count_against_the_timeout(server: Server) -> None:
    code = f"""
from convrag.api.completions import Message, Prompt
from convrag_llms.litellm_llm import LiteLLM
stage = LiteLLM(model="openai/local", api_base={server.address!r}, timeout=0.6, retries=0)
print(stage.complete(Prompt("answer", (Message("user", "Who was Laika?"),))).text)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "A dog.\n", done.stderr[-500:]
