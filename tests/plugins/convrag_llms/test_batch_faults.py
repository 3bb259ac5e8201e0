"""`llm.batch=true` where the server fails midway, loses files, or sends what cannot be read."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from batch_clients import ask, make_claude, make_llm
from batch_server import BatchServer
from convrag import LLM, LLMError
from convrag_llms import batching, call

MAKERS: dict[str, Callable[[BatchServer, Path], LLM]] = {
    "openai": make_llm,
    "anthropic": make_claude,
}

TEXTS = ("one", "two", "three", "four")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    monkeypatch.setattr(batching, "QUIET", 0.2)
    monkeypatch.setattr(batching, "FIRST_WAIT", 0.02)
    monkeypatch.setattr(batching, "LONGEST_WAIT", 0.02)
    monkeypatch.setattr(call, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-sesame")
    server = BatchServer()
    yield server
    server.close()


both = pytest.mark.parametrize(
    "llm", ["openai", pytest.param("anthropic", marks=pytest.mark.slow)], indirect=True
)
"""Runs a test with each protocol; Anthropic's, which needs litellm, in the slow layer."""


@pytest.fixture
def llm(request: pytest.FixtureRequest, server: BatchServer, tmp_path: Path) -> LLM:
    if request.param == "anthropic":
        pytest.importorskip("litellm")
    return MAKERS[request.param](server, tmp_path)


def ask_all(llm: LLM) -> dict[str, str]:
    """The replies to `TEXTS`, asked by threads."""
    with ThreadPoolExecutor(len(TEXTS)) as threads:
        replies = threads.map(llm.complete, map(ask, TEXTS))
        return dict(zip(TEXTS, (reply.text for reply in replies), strict=True))


ANSWERS = {text: f"Yes, {len(text)} letters." for text in TEXTS}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("llm", "path"),
    [
        ("openai", "/files"),
        ("openai", "/batches"),
        ("openai", "/batches/batch_0"),
        ("openai", "/content"),
        ("anthropic", "/messages/batches"),
        ("anthropic", "/messages/batches/msgbatch_0"),
        ("anthropic", "/results"),
    ],
    indirect=["llm"],
)
@pytest.mark.parametrize("fault", [(503, b""), (200, b"<html></html>"), (200, b"{}"), (200, b"")])
def test_a_fault_that_passes_costs_nothing_twice(
    llm: LLM, server: BatchServer, path: str, fault: tuple[int, bytes]
) -> None:
    """At an upload, at the begin of a batch, at a look, and at the reading of results."""
    server.odd = [(path, *fault)] * 2
    assert ask_all(llm) == ANSWERS
    assert server.odd == []
    assert server.paid == dict.fromkeys(TEXTS, 1)


def test_a_file_that_is_lost_is_asked_again_and_the_other_one_counts(
    server: BatchServer, tmp_path: Path
) -> None:
    server.faults = {"one": ["fail"], "two": ["fail"]}
    server.lost = ["error_file_id"]
    assert ask_all(make_llm(server, tmp_path)) == ANSWERS
    assert server.paid == {"one": 2, "two": 2, "three": 1, "four": 1}


def test_the_file_of_replies_is_lost(server: BatchServer, tmp_path: Path) -> None:
    server.lost = ["output_file_id"]
    assert ask_all(make_llm(server, tmp_path)) == ANSWERS
    assert server.paid == dict.fromkeys(TEXTS, 2)


@both
@pytest.mark.parametrize("line", [b"\xff", b"[]", b"{", b'{"custom_id": 3}', b"[" * 100_000])
def test_a_line_that_cannot_be_read_is_asked_again(
    llm: LLM, server: BatchServer, line: bytes
) -> None:
    server.damaged = [line]
    assert ask_all(llm) == ANSWERS
    assert sorted(server.paid.values()) == [1, 1, 1, 2]


@both
@pytest.mark.parametrize("result", [b"null", b"3", b'{"status_code": 200}', b'{"type": "errored"}'])
def test_a_result_of_another_form_is_asked_again(
    llm: LLM, server: BatchServer, result: bytes
) -> None:
    server.odd_results = [result]
    assert ask_all(llm) == ANSWERS
    assert sorted(server.paid.values()) == [1, 1, 1, 2]


@both
def test_a_batch_that_expires_as_a_whole_is_submitted_again(llm: LLM, server: BatchServer) -> None:
    server.faults = {text: ["expire"] for text in TEXTS}
    assert ask_all(llm) == ANSWERS
    assert server.paid == dict.fromkeys(TEXTS, 2)


@both
@pytest.mark.slow
def test_a_batch_that_expires_each_time_is_an_error(llm: LLM, server: BatchServer) -> None:
    server.faults = {"one": ["expire"] * 100}
    with pytest.raises(LLMError, match="the batch ended before the request was answered"):
        llm.complete(ask("one"))


@both
def test_a_batch_that_the_server_forgets_is_submitted_again(llm: LLM, server: BatchServer) -> None:
    server.forgets = 1
    assert ask_all(llm) == ANSWERS
    assert server.paid == dict.fromkeys(TEXTS, 1)
    assert len(server.batches) == 2
