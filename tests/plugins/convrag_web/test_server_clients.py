"""The client that most others are made of, openai, against a real server."""

from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
openai = pytest.importorskip("openai")

from served import QUESTION, RunningServer, serve  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the clients
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
    reply = client.chat.completions.create(
        model="convrag", messages=[QUESTION], extra_body={"convrag": True}
    )
    message = reply.choices[0].message
    assert message.content == answer
    assert message.annotations[0].url_citation.title
    assert reply.usage.total_tokens == 0  # rules answered
    assert len(reply.model_extra["convrag"]["agent_response"]) == len(
        answer
    )  # its citations have other numbers
    assert [model.id for model in client.models.list()] == ["convrag"]
    assert client.models.retrieve("convrag").owned_by == "convrag"


def test_openai_streams(client: openai.OpenAI, answer: str) -> None:
    options = {"include_usage": True}
    with client.chat.completions.create(
        model="convrag",
        messages=[QUESTION],
        stream=True,
        stream_options=options,
        extra_body={"convrag": True},
    ) as stream:
        chunks = list(stream)
    assert (
        "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == answer
    )
    assert chunks[-1].usage.total_tokens == 0  # rules answered
    deltas = [chunk.choices[0].delta for chunk in chunks[:-1]]
    (annotations,) = [delta.annotations for delta in deltas if "annotations" in delta.model_extra]
    assert annotations[0]["url_citation"]["title"]
    assert chunks[-2].convrag["citations"]
