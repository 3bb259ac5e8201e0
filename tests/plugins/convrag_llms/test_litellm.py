import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from convrag import ConfigError, Message, Prompt
from convrag.config.compose import compose
from convrag.store.fingerprint import compute_fingerprint, digest
from convrag.store.remember import compute_call_key
from convrag.testing import LLMContract
from convrag.turn.wiring import Wiring
from convrag_llms.litellm_llm import LiteLLM
from llm_client import OPTIONS, make_client
from llm_server import Server
from places import ROOT

pytest.importorskip("litellm")
pytestmark = pytest.mark.integration

KEY = "sk-planted-0123456789"
PROMPT = Prompt(
    "answer",
    (Message("system", "Be brief."), Message("user", "Who was Laika?")),
    {"question": "ignored"},
)
CONF = ROOT / "conf" / "llm"


@pytest.mark.filterwarnings(
    "ignore:Accessing the .* attribute on the instance is deprecated"
)  # litellm's own
class TestLiteLLMContract(LLMContract):
    network = True

    @pytest.fixture(autouse=True)
    def _server(self, server: Server) -> None:
        self.server = server

    def make(self) -> LiteLLM:
        return make_client(self.server)


class TestReplies:
    def test_what_is_sent(self, server: Server) -> None:
        prompt = Prompt(
            "answer", PROMPT.messages, sampling={"temperature": 0.7, "max_tokens": None}
        )
        stage = make_client(
            server, max_tokens=99, seed=3, temperature=0.1, stop=["END"], extra={"top_k": 5}
        )
        stage.complete(prompt)
        sent = {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Who was Laika?"},
            ],
            "temperature": 0.7,
            "seed": 3,
            "stop": ["END"],
            "top_k": 5,
        }
        assert server.requests == [{"model": "local", **sent}]
        assert stage.request(prompt) == {
            "model": "openai/local",
            "api_base": server.address,
            **sent,
        }

    def test_the_key_comes_from_the_environment_and_a_server_without_keys_gets_a_placeholder(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_SERVER_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-meant-for-openai")
        make_client(server, api_key_env="MY_SERVER_KEY").complete(PROMPT)
        make_client(server).complete(PROMPT)
        assert server.keys[0] == f"Bearer {KEY}"
        assert "openai" not in server.keys[1]

    def test_an_address_from_the_environment_with_a_user(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(
            "MY_SERVER", server.address.replace("http://", "http://me:hunter2hunter2@")
        )
        stage = LiteLLM(model="openai/local", api_base_env="MY_SERVER")
        assert list(stage.check()) == []
        assert stage.complete(PROMPT).text == "A dog."
        assert server.keys[0].startswith("Basic ")
        assert stage.request(PROMPT)["api_base"] == server.address

    def test_another_server_is_another_stage_and_another_request(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def identify(**parameters: Any) -> tuple[str, str]:
            stage = LiteLLM(**parameters)
            return compute_fingerprint(stage, "litellm", parameters), digest(stage.request(PROMPT))

        named = {"model": "openai/local", "api_base_env": "MY_SERVER"}
        found = []
        for variable, address, parameters in (
            ("MY_SERVER", "http://a/v1", named),
            ("MY_SERVER", "http://b/v1", named),
            (
                "OPENAI_BASE_URL",
                "http://a/v1",
                {"model": "openai/local"},
            ),  # litellm reads it by itself
            ("OPENAI_BASE_URL", "http://b/v1", {"model": "openai/local"}),
            ("TOGETHERAI_API_BASE", "http://c/v1", {"model": "together_ai/local"}),
            ("TOGETHERAI_API_BASE", "http://d/v1", {"model": "together_ai/local"}),
            ("OPENAI_API_BASE", "http://e/v1", {"model": "gpt-4o"}),
            ("OPENAI_API_BASE", "http://f/v1", {"model": "gpt-4o"}),
        ):
            with monkeypatch.context() as context:
                context.setenv(variable, address)
                found.append(identify(**parameters))
        fingerprints, requests = zip(*found, strict=True)
        assert len(set(fingerprints)) == 8
        assert requests[:2] == requests[2:4]  # the same server, however it is named
        assert len(set(requests)) == 6
        monkeypatch.setenv(
            "MY_SERVER", "http://me:hunter2@b/v1?key=secret"
        )  # secrets tell no servers apart
        assert identify(**named) == found[1]

    def test_claude_over_its_own_protocol(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        base = server.address.removesuffix("/v1")
        stage = LiteLLM(
            model="anthropic/claude-sonnet-4-5-20250929",
            api_base=base,
            api_key_env="ANTHROPIC_API_KEY",
        )
        completion = stage.complete(PROMPT)
        assert (server.paths, server.keys) == (["/v1/messages"], [KEY])
        assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == (
            "A dog.",
            7,
            3,
        )
        assert completion.cost_usd == pytest.approx(7 * 3e-6 + 3 * 15e-6)

    def test_claude_is_shown_where_to_cache(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        model, base = "anthropic/claude-sonnet-4-5-20250929", server.address.removesuffix("/v1")
        turns = [*PROMPT.messages, Message("assistant", "A dog."), Message("user", "Whose?")]
        prompt = Prompt("answer", tuple(turns))
        plain, marked = (
            LiteLLM(model=model, api_base=base, cache_prompts=mark) for mark in (False, True)
        )
        assert plain.request(prompt) == marked.request(prompt)  # what is remembered serves both
        plain.complete(prompt)
        assert "cache_control" not in json.dumps(server.requests)
        marked.complete(prompt)
        sent = server.requests[-1]
        mark = {"type": "ephemeral"}
        assert [block.get("cache_control") for block in sent["system"]] == [mark]
        blocks = [block for message in sent["messages"] for block in message["content"]]
        assert [block.get("cache_control") for block in blocks] == [None, None, mark]
        assert [block["text"] for block in blocks] == ["Who was Laika?", "A dog.", "Whose?"]

    def test_what_the_cache_of_claude_gave(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        usage = {"input_tokens": 10, "cache_read_input_tokens": 2000, "output_tokens": 3}
        reply = {
            "id": "1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
        }
        server.plan_replies(
            {
                **reply,
                "content": [{"type": "text", "text": "A dog."}],
                "usage": usage,
                "stop_reason": "end_turn",
            }
        )
        base = server.address.removesuffix("/v1")
        stage = LiteLLM(
            model="anthropic/claude-sonnet-4-5-20250929", api_base=base, cache_prompts=True
        )
        completion = stage.complete(PROMPT)
        assert (completion.prompt_tokens, completion.cached_tokens) == (2010, 2000)
        assert completion.cost_usd == pytest.approx(10 * 3e-6 + 2000 * 0.3e-6 + 3 * 15e-6)

    def test_only_claude_has_such_marks(self) -> None:
        with pytest.raises(ConfigError, match="cache_prompts=true is for Claude"):
            LiteLLM(model="openai/gpt-4o", cache_prompts=True)

    @pytest.mark.parametrize(
        ("model", "sent"),
        [
            ("openai/local", {"top_k": 50, "repetition_penalty": 1.15}),
            (
                "together_ai/mistralai/Mixtral-8x7B-Instruct-v0.1",
                {"top_k": 50, "repetition_penalty": 1.15},
            ),
            ("ollama_chat/llama3.1", {"top_k": 50, "repeat_penalty": 1.15}),
            ("anthropic/claude-sonnet-4-5-20250929", {"top_k": 50}),
        ],
    )
    def test_sampling_is_said_in_the_providers_words(
        self, server: Server, model: str, sent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        own = model.startswith(("openai", "together"))
        stage = LiteLLM(
            model=model, api_base=server.address if own else server.address.removesuffix("/v1")
        )
        stage.complete(
            Prompt("answer", PROMPT.messages, sampling={"top_k": 50, "repeat_penalty": 1.15})
        )
        body = server.requests[-1]
        found = {**body, **body.get("options", {})}
        names = ("top_k", "repeat_penalty", "repetition_penalty")
        assert {name: found[name] for name in names if name in found} == sent

    def test_what_a_provider_does_not_know_is_left_out_and_said_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        stage = LiteLLM(model="azure/mine", api_base="http://localhost")
        prompt = Prompt("answer", PROMPT.messages, sampling={"top_k": 50, "repeat_penalty": 1.15})
        assert not {"top_k", "repeat_penalty"} & set(stage.request(prompt))
        stage.request(prompt)
        assert (
            caplog.text.count("top_k=50 is left out of requests: azure has no such parameter") == 1
        )

    def test_ollama_over_its_own_protocol(self, server: Server) -> None:
        variant = yaml.safe_load((CONF / "ollama.yaml").read_text(encoding="utf-8"))
        del variant["defaults"]
        stage = LiteLLM(**{**variant, "api_base": server.address.removesuffix("/v1")})
        assert stage.complete(PROMPT).text == "A dog."
        assert server.paths[-1] == "/api/chat"
        assert server.requests[-1]["options"]["num_ctx"] == 8192

    def test_azure_takes_the_key_of_the_account(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AZURE_API_KEY", KEY)
        monkeypatch.setenv("AZURE_API_BASE", server.address.removesuffix("/v1"))
        variant = yaml.safe_load((CONF / "azure.yaml").read_text(encoding="utf-8"))
        del variant["defaults"]
        stage = LiteLLM(**{**variant, "model": "azure/my-deployment"})
        assert list(stage.check()) == []
        assert stage.complete(PROMPT).text == "A dog."
        assert "/deployments/my-deployment/chat/completions" in server.paths[0]
        assert server.keys == [KEY]


class TestRequest:
    def test_it_leaves_out_what_does_not(self) -> None:
        base = LiteLLM(model="openai/x", api_base="http://one/v1").request(PROMPT)
        operational = LiteLLM(
            model="openai/x",
            api_base="http://u:p@one/v1?key=1",
            api_key_env="ANY_KEY",
            stop=[],
            timeout=1,
            retries=0,
            retry_seconds=1,
            concurrency=1,
            requests_per_minute=1,
            max_cost_usd=1,
        )
        assert operational.request(PROMPT) == base
        plain = LiteLLM(model="openai/x", top_p=None).request(PROMPT)
        assert plain.keys() == {"model", "messages", "temperature", "max_tokens"}

    def test_neither_key_nor_source_is_in_the_key_of_a_reply(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stage = LiteLLM(model="openai/x", api_key_env="MY_KEY")
        monkeypatch.setenv("MY_KEY", KEY)
        before = compute_call_key(stage, "complete", {"prompt": PROMPT})
        monkeypatch.setenv("MY_KEY", "another")
        stage.fingerprint = "of another release"
        assert compute_call_key(stage, "complete", {"prompt": PROMPT}) == before

    def test_a_sent_request_does_not_change_what_is_configured(self) -> None:
        stage = LiteLLM(model="openai/x", extra={"metadata": {"a": 1}})
        stage.request(PROMPT)["metadata"]["b"] = 2  # litellm writes into it
        assert stage.request(PROMPT)["metadata"] == {"a": 1}


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"api_key_env": KEY}, r"llm\.api_key_env"),
        ({"api_key_env": "deadbeef" * 8}, r"llm\.api_key_env"),
        ({"api_base_env": "http://u:p@h/"}, r"llm\.api_base_env"),
        ({"extra": {"temperature": 1}}, r"llm\.extra\.temperature: set llm\.temperature"),
        ({"extra": {"num_retries": 1}}, r"set llm\.retries"),
        ({"extra": {"api_key": KEY}}, r"keys come from the environment"),
    ],
)
def test_impossible_parameters(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named) as raised:
        LiteLLM(model="openai/x", **parameters)
    assert KEY not in str(raised.value)
    assert "u:p" not in str(raised.value)


class TestCheck:
    @pytest.fixture(autouse=True)
    def _no_keys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in (
            "OPENAI",
            "ANTHROPIC",
            "TOGETHER",
            "TOGETHERAI",
            "TOGETHER_AI",
            "AZURE",
            "GEMINI",
            "GOOGLE",
            "MY",
        ):
            monkeypatch.delenv(f"{name}_API_KEY", raising=False)
            monkeypatch.delenv(f"{name}_API_BASE", raising=False)

    @pytest.mark.parametrize(
        ("parameters", "name"),
        [
            ({"model": "anthropic/claude-sonnet-4-5"}, "ANTHROPIC_API_KEY"),
            ({"model": "openai/gpt-4o"}, "OPENAI_API_KEY"),
            ({"model": "together_ai/x"}, "TOGETHER_API_KEY"),
            ({"model": "gemini/x"}, "GEMINI_API_KEY"),
            ({"model": "openai/x", "api_key_env": "MY_API_KEY"}, "MY_API_KEY"),
            ({"model": "openai/x", "api_base_env": "MY_API_BASE"}, "MY_API_BASE"),
            ({"model": "deepinfra/x"}, "DEEPINFRA_API_KEY"),  # this one litellm knows
        ],
    )
    def test_a_missing_variable_is_named(
        self, parameters: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert list(LiteLLM(**parameters).check()) == [
            f"{name} is not set: export it or choose llm=extractive"
        ]
        monkeypatch.setenv(name, KEY)
        assert f"{name} is not set" not in str(list(LiteLLM(**parameters).check()))

    @pytest.mark.slow
    def test_the_usual_providers_are_checked_without_importing_litellm(self) -> None:
        code = "import sys; from convrag_llms.litellm_llm import LiteLLM; list(LiteLLM(model='anthropic/x').check())\n"
        code += "assert not {'litellm', 'httpx', 'tenacity'} & set(sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_a_server_of_ones_own_must_take_a_connection(self, server: Server) -> None:
        assert list(make_client(server).check()) == []
        server.close()
        (problem,) = make_client(server).check()
        assert f"nothing answers at {server.address} (Connection refused)" in problem
        (problem,) = LiteLLM(model="openai/x", api_base="localhost:8000").check()
        assert "not an address such as" in problem
        assert server.requests == []

    def test_a_password_in_the_configuration_is_refused(self, server: Server) -> None:
        for address in (
            "http://me:hunter2hunter2@127.0.0.1:9/v1",
            "http://127.0.0.1:9/v1?api-key=hunter2hunter2",
        ):
            (problem,) = LiteLLM(model="openai/x", api_base=address).check()
            assert "llm.api_base_env" in problem
            assert "hunter2" not in problem

    def test_a_cost_limit_needs_prices(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        (problem,) = LiteLLM(model="openai/nobody-knows", max_cost_usd=1).check()
        assert "llm.max_cost_usd=1 cannot be kept: no price is known" in problem
        assert list(LiteLLM(model="openai/gpt-4", max_cost_usd=1).check()) == []
        priced = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
        assert (
            list(LiteLLM(model="openai/nobody-knows", max_cost_usd=1, extra=priced).check()) == []
        )
        (problem,) = LiteLLM(
            model="openai/nobody-knows", max_cost_usd=1, extra=priced, max_tokens=None
        ).check()
        assert "set llm.max_tokens" in problem


@pytest.mark.parametrize("path", sorted(CONF.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_variants_are_this_option_with_values(path: Path) -> None:
    first, *_ = path.read_text(encoding="utf-8").splitlines()
    assert first.startswith("# ")
    variant = yaml.safe_load(path.read_text(encoding="utf-8"))
    base, last = variant.pop("defaults")
    assert last == "_self_"
    stage = OPTIONS[base](**{**variant, "model": variant["model"].replace("???", "azure/mine")})
    assert ("/" in stage.model) == (base == "litellm")


@pytest.mark.slow
def test_the_library_is_quiet_and_looks_nothing_up() -> None:
    """In a fresh process: no look-up at import, no .env file, one line per warning, none on
    standard output.
    """
    code = """
import logging, socket
logging.basicConfig(level=logging.INFO, format="ROOT %(message)s")
def refuse(*args, **kwargs): raise SystemExit(f"looked up {args}")
socket.getaddrinfo = refuse
from convrag.sdk.output.library_logs import own_logs
from convrag_llms import litellm_library
from convrag_llms.litellm_llm import LiteLLM
own_logs()  # as the command does
LiteLLM(model="openai/x").count_tokens("a")
for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
    logging.getLogger(name).info("an info")
    logging.getLogger(name).warning("a warning")
    logging.getLogger(name).warning("a warning")
assert litellm_library.load_library() is litellm_library.load_library()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr.splitlines() == ["ROOT a warning"] * 3


@pytest.mark.slow
def test_litellm_is_told_before_its_import_to_look_nothing_up() -> None:
    settings = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
    environment = {name: value for name, value in os.environ.items() if name not in settings}
    code = f"import os, convrag_llms; print([os.environ.get(name) for name in {list(settings)}])"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(list(settings.values()))
    environment["LITELLM_MODE"] = "DEV"  # a user's own value stays
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(["True", "DEV"])


def test_each_stage_may_have_its_own_model() -> None:
    config = compose(
        "llm=mixtral", "+llm@rewriter.llm=claude", "rewriter=dhrag", "generator=direct"
    )
    wiring = Wiring(config)
    wiring.get("rewriter")
    assert wiring.get("generator").llm.model.startswith("together_ai/mistralai/Mixtral")
    assert wiring.stages["rewriter.llm"].model.startswith("anthropic/claude")
    assert wiring.stages["llm"] is wiring.get("generator").llm
