"""The first call of a user: an address that is missing, or is convrag's own server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from convrag import LLMError, Message, Pipeline, Prompt
from convrag.api.errors import NotReady
from convrag_llms.endpoint import OPENAI_ADDRESS, Endpoint
from convrag_llms.litellm_llm import LiteLLM
from convrag_llms.openai_compatible import OpenAICompatible
from convrag_llms.targets import find_key
from convrag_web.server.task import ServeTask
from served import RunningServer, serve

PROMPT = Prompt("answer", (Message("user", "How far away is the Moon?"),))


@pytest.fixture(scope="module")
def convrag_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A `task=serve` that listens."""
    with serve(tmp_path_factory.mktemp("served"), "tracker=none", live=True) as running:
        yield running


@pytest.fixture(autouse=True)
def no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def test_an_address_has_to_be_given() -> None:
    """It was localhost:8000, where convrag's own server listened."""
    llm = OpenAICompatible(model="m")
    (problem,) = llm.check()
    assert "address is missing, {place}.api_base=" in problem
    assert "http://localhost:11434/v1" in problem
    assert "https://api.openai.com/v1" in problem
    with pytest.raises(LLMError, match="address is missing, llm.api_base="):
        llm.complete(PROMPT)


def test_nothing_begins_without_an_address(tmp_path: Path) -> None:
    with pytest.raises(NotReady, match="address is missing, llm.api_base="):
        Pipeline.compose("llm=openai_compatible", f"store.path={tmp_path / 'store'}")


def test_a_server_of_convrag_is_refused_before_the_first_turn(
    convrag_server: RunningServer,
) -> None:
    llm = OpenAICompatible(model="m", api_base=f"{convrag_server.address}/v1")
    (problem,) = llm.check()
    assert "is a server of convrag, not of a model" in problem


@pytest.mark.parametrize(
    "option", [OpenAICompatible, pytest.param(LiteLLM, marks=pytest.mark.slow)]
)
def test_a_server_of_convrag_gives_no_reply(
    convrag_server: RunningServer, option: type[OpenAICompatible] | type[LiteLLM]
) -> None:
    """One that was started after the check, or that redirects to convrag."""
    llm = option(model="openai/m", api_base=f"{convrag_server.address}/v1")
    with pytest.raises(LLMError, match=r"convrag's own server answered.*Set llm\.api_base"):
        llm.complete(PROMPT)


def test_the_default_port_is_none_of_the_usual_ones() -> None:
    taken = {1234, 3000, 5000, 5001, 7860, 8000, 8080, 8501, 8888, 9200, 11434, 30000}
    assert ServeTask().port not in taken


def test_openais_own_address_is_sent_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    endpoint = Endpoint("openai/gpt", OPENAI_ADDRESS, None, None)
    assert find_key(endpoint) == "sk-planted-0123456789"
    other = Endpoint("openai/gpt", "https://gateway.example.org/v1", None, None)
    assert find_key(other) == ""
