"""What a user is told, and what nobody is told."""

import json
import logging
from base64 import b64encode
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from convrag import LLMError, Message, Prompt
from convrag.api.secrets import is_public_address, redact, redact_address
from convrag_llms.connections import CONNECTIONS
from convrag_llms.errors import HttpError, exceeds_context_window
from convrag_llms.redacted_logs import RedactingFilter
from convrag_llms.request_body import find_secret_values
from llm_client import every_option, make_client
from llm_server import Server, make_error

KEY = "sk-planted-0123456789"
PROMPT = Prompt("answer", (Message("user", "Who was Laika?"),))


TOO_LONG = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context length is 4096 tokens "
    "and your request has 4000 input tokens (512 > 4096 - 4000).",
    "prompt is too long: 210,000 tokens > 200,000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens and "
    "512 `max_new_tokens`",
    "the request (4210 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
]


@pytest.mark.parametrize("message", TOO_LONG)
def test_servers_say_in_their_own_ways_that_a_prompt_is_too_long(message: str) -> None:
    assert exceeds_context_window(HttpError(500, message))
    assert not exceeds_context_window(HttpError(429, message))


@pytest.mark.parametrize(
    "message", ["Rate limit reached: Limit 10000, Used 9990, Requested 500.", "the server is busy"]
)
def test_other_errors_are_no_long_prompts(message: str) -> None:
    assert not exceeds_context_window(HttpError(500, message))


@every_option
@pytest.mark.integration
def test_a_prompt_that_is_too_long_is_explained_with_the_servers_numbers(server: Server) -> None:
    server.plan_replies(make_error(400, TOO_LONG[0], code="context_length_exceeded"))
    with pytest.raises(
        LLMError, match=r"resulted in 9000 tokens.*Send less: fewer or shorter passages"
    ):
        make_client(server).complete(PROMPT)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["authorization", "x-api-key", "api-key", "x-goog-api-key"])
def test_a_redirect_to_another_host_is_not_sent_the_key(name: str) -> None:
    told: list[str | None] = []

    class Redirecting(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            told.append(self.headers[name])
            self.send_response(200 if self.path == "/there" else 307)
            self.send_header("location", f"http://localhost:{self.server.server_port}/there")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/here"
        with closing(CONNECTIONS.send("POST", url, b"{}", {name: KEY})) as response:
            assert response.status == 200
        server.shutdown()
    assert told == [KEY, None]


@every_option
@pytest.mark.integration
class TestSecrets:
    @pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
    def test_a_key_never_stands_in_an_error(
        self,
        server: Server,
        status: int,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        caplog.set_level(logging.DEBUG)
        monkeypatch.setenv("MY_SERVER_KEY", KEY)
        stage = make_client(server, api_key_env="MY_SERVER_KEY", retries=1)
        server.plan_replies(make_error(status, f"you sent Bearer {KEY}"))
        with pytest.raises(LLMError, match=r"you sent Bearer \*\*\*") as raised:
            stage.complete(PROMPT)
        error: BaseException | None = raised.value
        while error:
            assert KEY not in f"{error!r} {error.__dict__}"
            error = error.__cause__ or error.__context__
        assert KEY not in caplog.text
        assert KEY not in json.dumps(stage.request(PROMPT)) + repr(vars(stage)) + repr(
            stage.endpoint
        )

    def test_an_address_with_credentials(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SOME_TOKEN", "token-of-the-environment")
        sent = b64encode(b"user:hunter2hunter2").decode()
        server.plan_replies(
            make_error(400, f"hunter2hunter2 token-of-the-environment {sent} http://u:p@h/v1")
        )
        stage = make_client(
            server, api_base=server.address.replace("http://", "http://user:hunter2hunter2@")
        )
        with pytest.raises(LLMError, match=r"\*\*\* \*\*\* \*\*\* http://h/v1") as raised:
            stage.complete(PROMPT)
        assert "hunter2" not in str(raised.value)
        assert stage.request(PROMPT)["api_base"] == server.address

    def test_so_do_libraries_that_log(
        self, server: Server, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        address = f"{server.address.replace('http://', 'http://user:hunter2hunter2@')}?api-key=hunter2hunter2"
        make_client(server, api_base=address).complete(PROMPT)
        logger = {"litellm": "LiteLLM", "openai_compatible": "urllib3.connectionpool"}[
            server.option
        ]
        logging.getLogger(logger).warning("at %s", "http://user:hunter2hunter2@host/")
        assert "hunter2" not in caplog.text
        assert "at http://host/" in caplog.text


def test_addresses_and_messages() -> None:
    assert redact_address("https://me:secret@host:8/v1?api-key=12345678") == "https://host:8/v1"
    assert (
        redact("secret-1 at 12345678", "secret-1", None, address="https://h/?k=12345678")
        == "*** at ***"
    )
    assert redact("a b", "a") == "a b"  # too short to be a key
    assert redact("p%40ssword p@ssword", address="https://me:p%40ssword@h/") == "*** ***"
    assert redact("see http://a:b@c/ and http://c/d@e") == "see http://c/ and http://c/d@e"


def test_addresses_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://me:hunter2hunter2@host/db")
    assert redact("no hunter2hunter2 here") == "no *** here"


def test_public_addresses() -> None:
    assert is_public_address("http://host:8/v1?version=2")
    assert not is_public_address("http://me@host/v1")
    assert not is_public_address("http://host/v1?api-key=1")


def test_secret_values_of_a_request() -> None:
    found = find_secret_values(
        {"api_key": 1, "max_tokens": 1, "extra_headers": {"Authorization": "Bearer k"}, "keys": 2}
    )
    assert list(found) == ["1", "1", "Bearer k", "k"]


def test_a_line_is_logged_once() -> None:
    once = RedactingFilter()
    lines = [logging.LogRecord("x", logging.WARNING, "", 0, "a %s", (n,), None) for n in (1, 1, 2)]
    assert [once.filter(line) for line in lines] == [True, False, True]


def test_a_message_names_the_place_of_the_stage(server: Server) -> None:
    server.plan_replies(make_error(404))
    stage = make_client(server)
    stage.config_place = "rewriter.llm"
    with pytest.raises(LLMError, match=r"Check rewriter\.llm\.model and rewriter\.llm\.api_base"):
        stage.complete(PROMPT)
