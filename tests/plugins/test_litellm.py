from __future__ import annotations

import importlib.util
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from convrag.errors import ConfigError, LLMError, MissingExtra
from convrag.testing import LLMContract
from convrag.types import Message, Prompt
from convrag_litellm import LiteLLM, retrying
from convrag_litellm import llm as llm_module
from convrag_litellm.secrets import public_address, scrub

pytestmark = pytest.mark.integration
installed = all(importlib.util.find_spec(name) for name in ("litellm", "tenacity"))
needs_extra = pytest.mark.skipif(not installed, reason="needs the extra litellm")

KEY = "sk-planted-0123456789"
PROMPT = Prompt("answer", (Message("system", "Be brief."), Message("user", "Who was Laika?")), {"question": "ignored"})


def said(text: str | None = "A dog.", finish: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-name",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


class Server:
    """Speaks the OpenAI chat protocol on loopback: gives the planned replies in turn, the last one for ever."""

    def __init__(self) -> None:
        self.plan: list[tuple[int, Any, dict[str, str]]] = [(200, said(), {})]
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.times: list[float] = []
        self.delay = 0.0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                step = server.plan[min(len(server.requests), len(server.plan) - 1)]
                server.requests.append(body)
                server.keys.append(self.headers["authorization"])
                server.times.append(time.monotonic())
                time.sleep(server.delay)
                status, reply, headers = step
                data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                try:
                    self.send_response(status)
                    for name, value in {
                        "content-type": "application/json",
                        "content-length": str(len(data)),
                        **headers,
                    }.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # the client went away

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,))
        self.thread.start()

    def answers(self, *plan: Any) -> None:
        """Each step is a reply's body, or a status with an optional body and headers."""
        self.plan = [(200, step, {}) if isinstance(step, dict | bytes) else step for step in plan]

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def failing(status: int, message: str = "no", headers: dict[str, str] | None = None, **error: str) -> Any:
    return status, {"error": {"message": message, **error}}, headers or {}


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.01)


def client(server: Server, **parameters: Any) -> LiteLLM:
    return LiteLLM(**{"model": "openai/local", "api_base": server.address, **parameters})


@needs_extra
class TestLiteLLMContract(LLMContract):
    @pytest.fixture(autouse=True)
    def _server(self, server: Server) -> None:
        self.server = server

    def make(self) -> LiteLLM:
        return client(self.server)


@needs_extra
class TestReplies:
    def test_a_reply_with_its_usage(self, server: Server) -> None:
        completion = client(server).complete(PROMPT)
        assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("A dog.", 7, 3)
        assert completion.model == "served-name"
        assert completion.cost_usd is None  # nobody knows the price of a model of one's own
        assert completion.seconds > 0

    def test_what_is_sent(self, server: Server) -> None:
        prompt = Prompt("answer", PROMPT.messages, sampling={"temperature": 0.7, "max_tokens": None})
        client(server, max_tokens=99, seed=3, temperature=0.1).complete(prompt)
        assert server.requests == [
            {
                "model": "local",
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "Who was Laika?"},
                ],
                "temperature": 0.7,
                "seed": 3,
            }
        ]

    def test_a_known_model_has_a_price(self, server: Server) -> None:
        assert client(server, model="openai/gpt-4").complete(PROMPT).cost_usd == pytest.approx(7 * 3e-5 + 3 * 6e-5)

    def test_a_server_without_usage(self, server: Server) -> None:
        server.answers({name: value for name, value in said().items() if name != "usage"})
        assert client(server).complete(PROMPT).text == "A dog."

    def test_the_key_comes_from_the_environment_and_a_server_without_keys_gets_a_placeholder(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_SERVER_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-meant-for-openai")
        client(server, api_key_env="MY_SERVER_KEY").complete(PROMPT)
        client(server).complete(PROMPT)
        assert server.keys[0] == f"Bearer {KEY}"
        assert "openai" not in server.keys[1]

    def test_tokens_are_counted(self, server: Server) -> None:
        stage = client(server)
        assert stage.count_tokens("") == 0
        assert 4 <= stage.count_tokens("Who was Laika, the dog?") <= 10

    def test_counting_tokens_needs_no_network(self) -> None:
        start = time.monotonic()
        assert LiteLLM(model="together_ai/meta-llama/llama-2-7b").count_tokens("Who was Laika?") > 0
        assert time.monotonic() - start < 10

    def test_many_threads(self, server: Server) -> None:
        stage = client(server)
        with ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(lambda _: stage.complete(PROMPT).text, range(24)))
        assert texts == ["A dog."] * 24
        assert len(server.requests) == 24


@needs_extra
class TestRetries:
    def test_it_waits_as_long_as_it_is_told(self, server: Server) -> None:
        server.answers(failing(429, headers={"Retry-After": "1"}), said())
        assert client(server).complete(PROMPT).text == "A dog."
        assert len(server.requests) == 2
        assert 1.0 <= server.times[1] - server.times[0] < 3

    def test_a_date_to_wait_for(self, server: Server) -> None:
        when = formatdate(time.time() + 2, usegmt=True)
        server.answers(failing(503, headers={"Retry-After": when}), said())
        assert client(server).complete(PROMPT).text == "A dog."
        assert 0.5 <= server.times[1] - server.times[0] < 4

    def test_a_wait_that_nobody_has_time_for_fails_at_once(self, server: Server) -> None:
        server.answers(failing(429, headers={"Retry-After": "9999"}))
        with pytest.raises(LLMError, match="limit is reached"):
            client(server).complete(PROMPT)
        assert len(server.requests) == 1

    @pytest.mark.parametrize("headers", [{}, {"Retry-After": "soon"}, {"Retry-After": "-5"}])
    def test_without_a_sensible_wait_it_backs_off(self, server: Server, headers: dict[str, str]) -> None:
        server.answers(failing(429, headers=headers), said())
        assert client(server).complete(PROMPT).text == "A dog."

    def test_waits_grow(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retrying, "FIRST_WAIT", 0.2)
        server.answers(failing(500))
        with pytest.raises(LLMError):
            client(server, retries=2).complete(PROMPT)
        first, second, third = server.times
        assert 0.2 <= second - first < 1.2
        assert 0.4 <= third - second < 1.4

    @pytest.mark.parametrize("retries", [0, 3])
    @pytest.mark.parametrize("status", [408, 429, 500, 503])
    def test_each_retry_is_one_request(self, server: Server, status: int, retries: int) -> None:
        server.answers(failing(status, "busy just now"))
        with pytest.raises(LLMError, match="busy just now") as raised:
            client(server, retries=retries).complete(PROMPT)
        assert len(server.requests) == retries + 1
        assert (raised.value.status, raised.value.provider, raised.value.model) == (status, "openai", "openai/local")

    @pytest.mark.parametrize(
        ("reply", "advice"),
        [
            (failing(400, "bad parameter"), "sampling parameters"),
            (failing(401, "who are you"), "Check the key"),
            (failing(403, "not you"), "Check the key"),
            (failing(404, "no such model"), "llm.model and llm.api_base"),
            (failing(400, "This model's maximum context length is 10", code="context_length_exceeded"), "Send less"),
            (failing(500, "the request exceeds the available context size"), "Send less"),
        ],
    )
    def test_what_cannot_pass_is_not_repeated(self, server: Server, reply: Any, advice: str) -> None:
        server.answers(reply)
        with pytest.raises(LLMError, match=advice) as raised:
            client(server).complete(PROMPT)
        assert len(server.requests) == 1
        assert raised.value.status == reply[0]
        assert reply[1]["error"]["message"] in str(raised.value)
        assert server.address in str(raised.value)

    @pytest.mark.parametrize("reply", [{**said(), "choices": []}, said(None, "length"), said("  \n")])
    def test_empty_replies_are_repeated(self, server: Server, reply: Any) -> None:
        server.answers(reply, reply, said())
        assert client(server).complete(PROMPT).text == "A dog."
        assert len(server.requests) == 3
        server.answers(reply)
        with pytest.raises(LLMError, match="the reply is empty"):
            client(server, retries=1).complete(PROMPT)

    @pytest.mark.parametrize("reply", [b"<html>oops</html>", b'{"choices": [', b"{}"])
    def test_replies_that_are_none_are_repeated(self, server: Server, reply: bytes) -> None:
        server.answers(reply, said())
        assert client(server).complete(PROMPT).text == "A dog."

    def test_a_server_that_is_too_slow(self, server: Server) -> None:
        server.delay = 1.0
        start = time.monotonic()
        with pytest.raises(LLMError, match=r"llm\.timeout=0\.2") as raised:
            client(server, timeout=0.2, retries=1).complete(PROMPT)
        assert time.monotonic() - start < 10
        assert len(server.requests) == 2
        assert raised.value.status == 408

    def test_a_server_that_is_not_there(self) -> None:
        with pytest.raises(LLMError, match=r"http://127\.0\.0\.1:9/v1 running"):
            LiteLLM(model="openai/local", api_base="http://127.0.0.1:9/v1", retries=0).complete(PROMPT)

    def test_a_model_without_a_provider(self) -> None:
        with pytest.raises(LLMError, match="provider/model"):
            LiteLLM(model="nonsense").complete(PROMPT)


@needs_extra
class TestSecrets:
    def test_a_key_never_stands_in_an_error(
        self, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("MY_SERVER_KEY", KEY)
        stage = client(server, api_key_env="MY_SERVER_KEY", retries=1)
        for status in (400, 401, 429, 500):
            server.answers(failing(status, f"you sent Bearer {KEY}"))
            with pytest.raises(LLMError, match=r"you sent Bearer \*\*\*") as raised:
                stage.complete(PROMPT)
            error: BaseException | None = raised.value
            while error:
                assert KEY not in f"{error!r} {error.__dict__}"
                error = error.__cause__ or error.__context__
        assert KEY not in caplog.text
        assert KEY not in json.dumps(stage.request(PROMPT)) + repr(vars(stage))

    def test_an_address_with_credentials(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOME_TOKEN", "token-of-the-environment")
        address = server.address.replace("http://", "http://user:hunter2hunter2@")
        server.answers(failing(400, "hunter2hunter2 token-of-the-environment"))
        stage = client(server, api_base=address)
        with pytest.raises(LLMError, match=r"\*\*\* \*\*\*") as raised:
            stage.complete(PROMPT)
        assert "hunter2" not in str(raised.value)
        assert stage.request(PROMPT)["api_base"] == server.address


def test_addresses_and_messages() -> None:
    assert public_address("https://me:secret@host:8/v1?api-key=12345678") == "https://host:8/v1"
    assert scrub("secret-1 at 12345678", "secret-1", None, address="https://h/?k=12345678") == "*** at ***"
    assert scrub("a b", "a") == "a b"  # too short to be a key


def test_the_request_tells_apart_what_changes_the_reply() -> None:
    base = LiteLLM(model="openai/x", api_base="http://one/v1").request(PROMPT)
    others = [
        LiteLLM(model="openai/y", api_base="http://one/v1"),
        LiteLLM(model="openai/x", api_base="http://other/v1"),
        LiteLLM(model="openai/x", api_base="http://one/v1", temperature=0.5),
        LiteLLM(model="openai/x", api_base="http://one/v1", seed=1),
    ]
    assert all(other.request(PROMPT) != base for other in others)
    operational = LiteLLM(model="openai/x", api_base="http://u:p@one/v1", timeout=1, retries=0, api_key_env="ANY_KEY")
    assert operational.request(PROMPT) == base
    assert LiteLLM(model="openai/x", top_p=None).request(PROMPT).keys() == {
        "model",
        "messages",
        "temperature",
        "max_tokens",
    }


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"timeout": 0}, r"llm\.timeout=0"),
        ({"retries": -1}, r"llm\.retries=-1"),
        ({"api_key_env": KEY}, r"llm\.api_key_env"),
        ({"api_key_env": "deadbeef" * 8}, r"llm\.api_key_env"),
    ],
)
def test_impossible_parameters(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named) as raised:
        LiteLLM(model="openai/x", **parameters)
    assert str(parameters.get("api_key_env")) not in str(raised.value)


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm_module, "find_spec", lambda name: None)
    llm_module._missing_extra.cache_clear()
    try:
        stage = LiteLLM(model="openai/x", api_key_env="NOT_SET_KEY")
        (problem,) = stage.check()
        assert "pip install 'convrag[litellm]'" in problem
        with pytest.raises(MissingExtra, match="litellm and tenacity"):
            stage.complete(PROMPT)
    finally:
        llm_module._missing_extra.cache_clear()


@needs_extra
def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NOT_SET_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (problem,) = LiteLLM(model="openai/x", api_base="http://h/v1", api_key_env="NOT_SET_KEY").check()
    assert "NOT_SET_KEY is not set" in problem
    (problem,) = LiteLLM(model="anthropic/claude-sonnet-4-5").check()
    assert "ANTHROPIC_API_KEY is not set" in problem
    assert list(LiteLLM(model="openai/x", api_base="http://h/v1").check()) == []
    with pytest.raises(LLMError, match="NOT_SET_KEY is not set"):
        LiteLLM(model="openai/x", api_base="http://h/v1", api_key_env="NOT_SET_KEY").complete(PROMPT)
    monkeypatch.setenv("NOT_SET_KEY", KEY)
    assert list(LiteLLM(model="openai/x", api_key_env="NOT_SET_KEY").check()) == []


@needs_extra
def test_the_library_is_quiet_and_looks_nothing_up() -> None:
    """In a fresh process: no look-up at import, no .env file, one line per warning, none on standard output."""
    code = """
import logging, socket
logging.basicConfig(level=logging.INFO, format="ROOT %(message)s")
def refuse(*args, **kwargs): raise SystemExit(f"looked up {args}")
socket.getaddrinfo = refuse
from convrag_litellm import LiteLLM, _litellm
LiteLLM(model="openai/x").count_tokens("a")
for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
    logging.getLogger(name).info("an info")
    logging.getLogger(name).warning("a warning")
assert _litellm.library() is _litellm.library()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr.splitlines() == ["ROOT a warning"] * 3


@needs_extra
def test_loggers_of_litellm_keep_reaching_the_root(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    client(server).complete(PROMPT)
    assert not logging.getLogger("LiteLLM").handlers
    assert not [
        record for record in caplog.records if record.name.startswith("LiteLLM") and record.levelno < logging.WARNING
    ]


def test_the_variant_for_a_server_of_ones_own() -> None:
    path = Path(__file__).parents[2] / "conf" / "llm" / "openai_compatible.yaml"
    variant = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert variant.pop("defaults") == ["litellm", "_self_"]
    stage = LiteLLM(**variant)
    assert stage.request(PROMPT)["api_base"] == "http://localhost:8000/v1"
    assert stage.model.startswith("openai/")
