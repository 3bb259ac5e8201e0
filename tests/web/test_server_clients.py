"""Clients that people have: openai, litellm, llm, and convrag itself, against a real server."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
openai = pytest.importorskip("openai")

from served import QUESTION, RunningServer, serve  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the clients
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance is deprecated"),  # litellm's own
    pytest.mark.filterwarnings("ignore:Item 'summary' on TypedDict:UserWarning"),  # litellm's own
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serve(tmp_path_factory.mktemp("served"), "generator=direct", live=True) as running:
        yield running


@pytest.fixture
def client(server: RunningServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.address}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def answer(server: RunningServer) -> str:
    return str(server.complete().json()["choices"][0]["message"]["content"])


def test_openai(client: openai.OpenAI, answer: str) -> None:
    reply = client.chat.completions.create(model="convrag", messages=[QUESTION], extra_body={"convrag": True})
    message = reply.choices[0].message
    assert message.content == answer
    assert message.annotations[0].url_citation.title
    assert reply.usage.total_tokens == 0  # rules answered
    assert len(reply.model_extra["convrag"]["agent_response"]) == len(answer)  # its citations have other numbers
    assert [model.id for model in client.models.list()] == ["convrag"]
    assert client.models.retrieve("convrag").owned_by == "convrag"


def test_openai_streams(client: openai.OpenAI, answer: str) -> None:
    options = {"include_usage": True}
    with client.chat.completions.create(
        model="convrag", messages=[QUESTION], stream=True, stream_options=options, extra_body={"convrag": True}
    ) as stream:
        chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == answer
    assert chunks[-1].usage.total_tokens == 0  # rules answered
    deltas = [chunk.choices[0].delta for chunk in chunks[:-1]]
    (annotations,) = [delta.annotations for delta in deltas if "annotations" in delta.model_extra]
    assert annotations[0]["url_citation"]["title"]
    assert chunks[-2].convrag["citations"]


def test_litellm(server: RunningServer, answer: str) -> None:
    litellm = pytest.importorskip("litellm")
    given = {"model": "openai/convrag", "api_base": f"{server.address}/v1", "api_key": "none", "messages": [QUESTION]}
    reply = litellm.completion(**given)
    assert reply.choices[0].message.content == answer
    assert reply.choices[0].message.annotations[0]["url_citation"]["title"]
    pieces = list(litellm.completion(**given, stream=True))
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == answer


LLM_MODELS = """\
- model_id: local-convrag
  model_name: convrag
  api_base: {address}/v1
"""


def test_llm(server: RunningServer, answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llm")
    (tmp_path / "extra-openai-models.yaml").write_text(LLM_MODELS.format(address=server.address))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    for options in ([], ["--no-stream"], ["-s", "Be brief."]):
        command = [sys.executable, "-m", "llm", "-m", "local-convrag", *options, str(QUESTION["content"])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout.strip() == answer, done.stderr
