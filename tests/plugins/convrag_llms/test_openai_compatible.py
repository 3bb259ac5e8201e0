"""What llm=openai_compatible does by itself; what it shares with llm=litellm is tested in
test_llm_*.py.
"""

import itertools
import json
import ssl
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from hypothesis import given, strategies as st

from convrag import LLMError, Message, Prompt
from convrag.testing import LLMContract
from convrag_llms.connections import CONNECTIONS
from convrag_llms.endpoint import is_private
from convrag_llms.litellm_llm import LiteLLM
from convrag_llms.openai_compatible import OpenAICompatible
from convrag_llms.openai_protocol import read_events
from convrag_llms.tokens import estimate_tokens
from llm_client import make_client
from llm_server import Server, Step, make_reply

pytestmark = pytest.mark.integration

KEY = "sk-planted-0123456789"
PROMPT = Prompt(
    "answer",
    (Message("system", "Be brief."), Message("user", "Who was Laika?")),
    {"question": "ignored"},
)


@pytest.fixture
def option() -> str:
    """The option that `server` is for."""
    return "openai_compatible"


class TestOpenAICompatibleContract(LLMContract):
    network = True

    @pytest.fixture(autouse=True)
    def _server(self, server: Server) -> None:
        self.server = server

    def make(self) -> Any:
        return make_client(self.server)


class TestRequest:
    def test_what_is_sent(self, server: Server) -> None:
        extra = {
            "top_k": 5,
            "extra_body": {"guided_json": {}},
            "input_cost_per_token": 1e-6,
            "output_cost_per_token": 0,
        }
        stage = make_client(server, max_tokens=99, seed=3, stop=["END"], extra=extra)
        assert [stage.request(replace(PROMPT, room=room))["max_tokens"] for room in (50, 500)] == [
            99,
            500,
        ]
        stage.complete(
            Prompt("answer", PROMPT.messages, sampling={"temperature": 0.7, "repeat_penalty": 1.1})
        )
        assert server.requests == [
            {
                "model": "local",
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "Who was Laika?"},
                ],
                "temperature": 0.7,
                "max_tokens": 99,
                "seed": 3,
                "stop": ["END"],
                "top_k": 5,
                "repeat_penalty": 1.1,
                "repetition_penalty": 1.1,
                "guided_json": {},
            }
        ]
        assert server.paths == ["/v1/chat/completions"]

    @pytest.mark.parametrize("model", ["Qwen/Qwen2.5-7B", "openai/Qwen/Qwen2.5-7B"])
    def test_the_model_goes_by_the_name_that_the_server_gives_it(
        self, server: Server, model: str
    ) -> None:
        stage = make_client(server, model=model)
        stage.complete(PROMPT)
        assert server.requests[0]["model"] == "Qwen/Qwen2.5-7B"
        assert stage.request(PROMPT)["model"] == "openai/Qwen/Qwen2.5-7B"

    def test_a_request_is_the_same_as_through_litellm_so_that_remembered_replies_serve_both(
        self,
    ) -> None:
        given: dict[str, Any] = {"api_base": "http://h/v1", "seed": 3, "extra": {"top_k": 5}}
        prompt = Prompt("answer", PROMPT.messages, sampling={"repeat_penalty": 1.1})
        others = LiteLLM(model="openai/local", **given).request(prompt)
        assert OpenAICompatible(model="local", **given).request(prompt) == others

    def test_no_key_of_openai_goes_to_another_server(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        make_client(server).complete(PROMPT)
        monkeypatch.setenv("MY_KEY", f"{KEY}\n")
        make_client(server, api_key_env="MY_KEY").complete(PROMPT)
        assert server.keys == ["", f"Bearer {KEY}"]

    def test_an_address_in_the_environment_is_asked_with_its_key(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.setenv("OPENAI_BASE_URL", server.address)
        stage = make_client(server, api_base=None)
        assert "OPENAI_API_KEY is not set" in str(list(stage.check()))
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        stage.complete(PROMPT)
        assert server.keys == [f"Bearer {KEY}"]

    def test_an_address_may_have_a_user_and_a_query(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        address = server.address.replace("http://", "http://me:hunter%32@") + "/?version=2"
        monkeypatch.setenv("MY_SERVER", address)
        make_client(
            server, api_base_env="MY_SERVER", extra={"extra_headers": {"X-Team": "a"}}
        ).complete(PROMPT)
        assert server.paths == ["/v1/chat/completions?version=2"]
        assert server.keys[0] == "Basic bWU6aHVudGVyMg=="

    def test_a_key_that_is_none_is_not_quoted(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_KEY", "sk-pl\u00e4nted-0123456789")
        with pytest.raises(LLMError, match="has characters that no key has") as raised:
            make_client(server, api_key_env="MY_KEY").complete(PROMPT)
        assert "0123456789" not in str(raised.value)
        assert server.requests == []


class TestConnections:
    def test_they_stay_open(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        accepted = []
        accept = server._http.get_request
        monkeypatch.setattr(server._http, "get_request", lambda: accepted.append(1) or accept())
        stage = make_client(server)
        for _ in range(5):
            stage.complete(PROMPT)
        server.delay = 0.02
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: stage.complete(PROMPT), range(40)))
        assert len(accepted) <= 8

    def test_a_proxy_is_asked(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", server.address.removesuffix("/v1"))
        stage = make_client(server, api_base="http://models.example/v1")
        assert list(stage.check()) == []
        assert stage.complete(PROMPT).text == "A dog."
        assert server.paths == ["http://models.example/v1/chat/completions"]

    def test_a_redirection_is_followed(self, server: Server) -> None:
        server.plan_replies(
            Step(307, b"", (("location", f"{server.address}/elsewhere"),)), make_reply()
        )
        assert make_client(server).complete(PROMPT).text == "A dog."
        assert server.paths == ["/v1/chat/completions", "/v1/elsewhere"]
        assert server.requests[0] == server.requests[1]

    @pytest.mark.slow
    @pytest.mark.skipif(which("openssl") is None, reason="needs openssl, which makes a certificate")
    def test_a_certificate_of_ones_own_is_trusted_where_the_environment_says_so(
        self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        command = "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost"
        subprocess.run(
            ["openssl", *command.split(), "-addext", "subjectAltName=DNS:localhost"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
        monkeypatch.setattr(
            server._http, "socket", context.wrap_socket(server._http.socket, server_side=True)
        )
        address = f"https://localhost:{server.port}/v1"
        CONNECTIONS._pools.clear()
        with pytest.raises(LLMError, match=r"no trusted connection.*SSL_CERT_FILE names"):
            make_client(server, api_base=address).complete(PROMPT)
        assert server.requests == []
        CONNECTIONS._pools.clear()
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert make_client(server, api_base=address).complete(PROMPT).text == "A dog."
        server.plan_replies(Step(body=make_reply(), byte_delay=0.05))
        with pytest.raises(LLMError, match=r"llm\.timeout=0\.3"):
            make_client(server, api_base=address, timeout=0.3, retries=0).complete(PROMPT)

    @pytest.mark.slow
    def test_libraries_of_providers_are_not_imported(self, server: Server) -> None:
        code = f"""
import sys
from convrag.api.completions import Message, Prompt
from convrag_llms.litellm_llm import LiteLLM
from convrag_llms.openai_compatible import OpenAICompatible
stage = OpenAICompatible(model="local", api_base={server.address!r})
assert not {{"urllib3", "tenacity"}} & set(sys.modules)
print(stage.complete(Prompt("answer", (Message("user", "Who was Laika?"),))).text)
assert not {{"litellm", "openai", "httpx", "pydantic"}} & set(sys.modules)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.stdout == "A dog.\n", done.stderr


def test_prices_count_what_the_server_does_not(server: Server) -> None:
    server.plan_replies({**make_reply(), "usage": None})
    prices = {"input_cost_per_token": 1.0, "output_cost_per_token": 100.0}
    completion = make_client(server, extra=prices).complete(PROMPT)
    assert (
        completion.cost_usd
        == estimate_tokens("Be brief.") + estimate_tokens("Who was Laika?") + 300
    )


@pytest.mark.parametrize(
    ("address", "model", "cost"),
    [
        ("https://api.openai.com/v1", "gpt-4", 7 * 30e-6 + 3 * 60e-6),
        (
            "https://api.openai.com/v1",
            "gpt-4o",
            3 * 2.5e-6 + 4 * 1.25e-6 + 3 * 10e-6,
        ),  # four tokens were cached
        ("https://api.groq.com/openai/v1", "llama-3.3-70b-versatile", 7 * 0.59e-6 + 3 * 0.79e-6),
        ("https://api.openai.com/v1", "nobody-knows", None),
        ("https://models.example/v1", "gpt-4", None),
    ],
)
def test_a_provider_costs_what_it_lists(
    server: Server, address: str, model: str, cost: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.plan_replies(make_reply(prompt_tokens_details={"cached_tokens": 4}))
    stage = OpenAICompatible(model=model, api_base=server.address, max_cost_usd=1)
    module = "convrag_llms.openai_compatible"
    monkeypatch.setattr(f"{module}.find_address", lambda _: address)
    monkeypatch.setattr(f"{module}.find_target", lambda _, end: (f"{server.address}{end}", {}))
    assert any("cannot be kept" in each for each in stage.check()) == (cost is None)
    if cost is not None:
        assert stage.complete(PROMPT).cost_usd == pytest.approx(cost)
        assert stage.find_prices().compute_max_cost(PROMPT.messages, 3) > cost


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://10.1.2.3/v1", True),
        ("http://vllm:8000/v1", True),
        ("http://gpu.local/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
    ],
)
def test_a_server_nearby_costs_nothing(address: str, private: bool) -> None:
    assert is_private(address) == private
    stage = OpenAICompatible(
        model="nobody-knows", api_base=address, max_cost_usd=1, max_tokens=None
    )
    assert (stage.find_prices() is None) != private


class TestEvents:
    STREAM = b': ping\n\ndata: {"a": 1}\r\n\r\nid: 3\nevent: error\ndata:x\n\n\n\ndata: caf\xc3\xa9'
    EVENTS = (b'{"a": 1}', b"x", b"caf\xc3\xa9")

    @given(st.lists(st.integers(0, len(STREAM)), max_size=12))
    def test_they_are_the_same_however_they_arrive(self, cuts: list[int]) -> None:
        places = [0, *sorted(cuts), len(self.STREAM)]
        pieces = [self.STREAM[start:end] for start, end in itertools.pairwise(places)]
        assert tuple(read_events(pieces)) == self.EVENTS

    @given(st.binary(max_size=200))
    def test_any_bytes_are_read(self, data: bytes) -> None:
        whole = list(read_events([data]))
        assert list(read_events(bytes([byte]) for byte in data)) == whole


TEXTS = [
    "Laika was a Soviet space dog who was one of the first animals in space and the first to orbit the Earth.",
    "Who was she? When did it happen, and why did nobody tell the newspapers?",
    json.dumps([{"id": n, "score": n / 7, "text": "a passage"} for n in range(20)]),
    "def add(first, second):\n    return first + second\n" * 5,
    "In 1957, 3 November, at 02:30 UTC, Sputnik 2 was launched from Baikonur Cosmodrome Site 1/5.",
    "Le petit chien est mort après quelques heures, à cause de la chaleur dans la cabine.",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_estimate_is_near_what_a_tokenizer_counts(text: str) -> None:
    litellm = pytest.importorskip("litellm")
    counted = litellm.token_counter(model="openai/gpt-4", text=text)
    assert 0.7 < estimate_tokens(text) / counted < 1.4
