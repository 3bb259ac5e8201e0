"""`llm.batch=true`: waves of requests, against a server of the published protocol on loopback."""

import os
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from batch_clients import CLAUDE, ask, make_claude, make_llm
from batch_server import BatchServer
from commands import StartedCommand, run_convrag
from convrag import LLMError, Message, Prompt
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag_llms import batching, call
from tasks import run_task

RUN = (
    "generator=direct",
    "rewriter=none",
    "workers=20",
    "report=false",
    "tracker=none",
    "metrics=[]",
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    monkeypatch.setattr(batching, "QUIET", 0.3)
    monkeypatch.setattr(batching, "FIRST_WAIT", 0.1)
    monkeypatch.setattr(call, "FIRST_WAIT", 0.1)
    server = BatchServer()
    yield server
    server.close()


def test_requests_of_threads_go_together_at_half_the_price(
    server: BatchServer, tmp_path: Path
) -> None:
    llm = make_llm(server, tmp_path)
    texts = [f"Question {number}?" for number in range(12)]
    with ThreadPoolExecutor(12) as threads:
        replies = list(threads.map(llm.complete, map(ask, texts)))
    assert [reply.text for reply in replies] == [f"Yes, {len(text)} letters." for text in texts]
    assert len(server.batches) == 1
    assert server.direct == 0
    assert [reply.cost_usd for reply in replies] == [pytest.approx((7 + 3) * 0.01 / 2)] * 12
    report = llm.report([])
    assert report is not None
    assert report.lines == (
        "Batches: 12 requests. What was asked now cost $0.6000; one by one it would have cost $1.2000.",
    )


def test_an_empty_reply_of_a_batch_costs_half_as_well(server: BatchServer, tmp_path: Path) -> None:
    server.faults = {"one": ["empty"]}
    llm = make_llm(server, tmp_path)
    reply = llm.complete(ask("one"))
    assert reply.retries == 1
    assert reply.cost_usd == pytest.approx(2 * (7 + 3) * 0.01 / 2)
    assert llm.limits.budget.spent == pytest.approx(2 * (7 + 3) * 0.01 / 2)


def test_failed_and_expired_lines_are_asked_again_and_refused_ones_are_errors(
    server: BatchServer, tmp_path: Path
) -> None:
    server.faults = {"one": ["fail"], "two": ["expire", "expire"], "three": ["refuse"]}
    llm = make_llm(server, tmp_path)
    with ThreadPoolExecutor(4) as threads:
        one, two, three, four = [
            threads.submit(llm.complete, ask(text)) for text in ("one", "two", "three", "four")
        ]
    assert (one.result().retries, two.result().retries, four.result().retries) == (1, 2, 0)
    with pytest.raises(LLMError, match="status 400 of a line"):
        three.result()
    assert server.paid == {"one": 2, "two": 3, "three": 1, "four": 1}


def test_a_batch_that_is_refused_is_an_error_of_its_turns(
    server: BatchServer, tmp_path: Path
) -> None:
    server.refused = "the model does not take batches"
    with pytest.raises(LLMError, match="the batch was refused: .*the model does not take batches"):
        make_llm(server, tmp_path).complete(ask("one"))


def test_a_server_that_fails_for_long_is_an_error_and_its_batches_are_taken_up_later(
    server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "RETRIES", 1)
    server.looks = 10**6
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(make_llm(server, tmp_path, retries=0).complete, ask("one"))
        while not server.batches:
            time.sleep(0.05)
        time.sleep(0.3)  # the store keeps its id
        server.down = True
        with pytest.raises(LLMError, match="status 503"):
            asked.result(30)
    server.down, server.looks = False, 1
    assert make_llm(server, tmp_path).complete(ask("one")).text == "Yes, 3 letters."
    assert (len(server.batches), server.paid["one"]) == (1, 1)


def test_another_process_takes_up_what_was_submitted(server: BatchServer, tmp_path: Path) -> None:
    server.looks = 10**6
    cancellation = Cancellation()

    def begin() -> None:
        with cancellation.apply(), pytest.raises(Cancelled):
            make_llm(server, tmp_path).complete(ask("one"))

    thread = threading.Thread(target=begin)
    thread.start()
    while not server.batches:
        time.sleep(0.05)
    time.sleep(0.3)  # the store keeps its id
    cancellation.cancel()
    thread.join(5)
    assert not thread.is_alive(), "an interruption does not wait for a batch"
    server.looks = 1
    other = make_llm(server, tmp_path)
    assert other.complete(ask("one")).text == "Yes, 3 letters."
    assert (len(server.batches), server.paid["one"]) == (1, 1)
    while other._batches._thread is not None:  # until the reply counts as handed out
        time.sleep(0.05)
    assert other.complete(ask("one")).text == "Yes, 3 letters."
    assert server.paid["one"] == 2, "asked again, it is another attempt"


def test_a_listener_hears_its_answer_at_once(server: BatchServer, tmp_path: Path) -> None:
    """The server streams nothing, so the turn fails; it was asked for by itself."""
    chat = ["task=chat", "task.suggestions=0", "generator=direct", "rewriter=none", "tracker=none"]
    llm = [
        "llm=openai_compatible",
        f"llm.api_base={server.address}",
        "llm.model=tiny",
        "llm.batch=true",
    ]
    llm += ["llm.retries=0"]
    done = run_task([*chat, *llm], tmp_path, stdin="How far is the Moon?\n")
    assert (server.direct, server.batches) == (1, []), done.stdout


class TestAnthropic:
    @pytest.fixture(autouse=True)
    def _key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-sesame")

    def test_requests_go_together_at_half_the_price(
        self, server: BatchServer, tmp_path: Path
    ) -> None:
        llm = make_claude(server, tmp_path)
        messages = (
            Message("system", "Be short."),
            Message("user", "A?"),
            Message("assistant", "B."),
        )
        texts = ["x" * (number + 1) for number in range(6)]
        prompts = [
            Prompt(task="answer", messages=(*messages, Message("user", text))) for text in texts
        ]
        with ThreadPoolExecutor(6) as threads:
            replies = list(threads.map(llm.complete, prompts))
        assert [reply.text for reply in replies] == [f"Yes, {len(text)} letters." for text in texts]
        assert (len(server.batches), server.direct, server.keys) == (1, 0, {"sk-sesame"})
        price = (7 * 3e-6 + 3 * 15e-6) / 2
        found = {
            (each.prompt_tokens, each.completion_tokens, each.finish_reason) for each in replies
        }
        assert found == {(7, 3, "length")}
        assert [reply.cost_usd for reply in replies] == [pytest.approx(price)] * 6
        params = server.batches[0]["requests"][0]["params"]
        assert ([block["text"] for block in params["system"]], params["max_tokens"]) == (
            ["Be short."],
            512,
        )
        report = llm.report([])
        assert report is not None
        assert report.lines[0].startswith("Batches: 6 requests. What was asked now cost $0.0002;")

    def test_prices_of_the_user_are_halved(self, server: BatchServer, tmp_path: Path) -> None:
        prices = {"input_cost_per_token": 0.01, "output_cost_per_token": 0.02}
        assert make_claude(server, tmp_path, extra=prices).complete(
            ask("one")
        ).cost_usd == pytest.approx(0.13 / 2)

    def test_what_may_pass_is_asked_again_and_what_is_invalid_is_an_error(
        self, server: BatchServer, tmp_path: Path
    ) -> None:
        server.faults = {"one": ["fail"], "two": ["expire", "expire"], "three": ["refuse"]}
        llm = make_claude(server, tmp_path)
        with ThreadPoolExecutor(4) as threads:
            one, two, three, four = [
                threads.submit(llm.complete, ask(text)) for text in ("one", "two", "three", "four")
            ]
        assert (one.result().retries, two.result().retries, four.result().retries) == (1, 2, 0)
        with pytest.raises(
            LLMError, match=r"status 400\): refuse of a line \(invalid_request_error\)"
        ):
            three.result()
        assert server.paid == {"one": 2, "two": 3, "three": 1, "four": 1}

    def test_another_process_takes_up_what_was_submitted(
        self, server: BatchServer, tmp_path: Path
    ) -> None:
        server.looks = 10**6
        cancellation = Cancellation()

        def begin() -> None:
            with cancellation.apply(), pytest.raises(Cancelled):
                make_claude(server, tmp_path).complete(ask("one"))

        thread = threading.Thread(target=begin)
        thread.start()
        while not server.batches:
            time.sleep(0.05)
        time.sleep(0.3)  # the store keeps its id
        cancellation.cancel()
        thread.join(5)
        assert not thread.is_alive(), "an interruption does not wait for a batch"
        server.looks = 1
        assert make_claude(server, tmp_path).complete(ask("one")).text == "Yes, 3 letters."
        assert (len(server.batches), server.paid["one"]) == (1, 1)


def test_litellm_says_which_option_sends_batches(tmp_path: Path) -> None:
    done = run_task(
        ["llm=litellm", "llm.model=openai/x", "llm.api_base=http://localhost:1", "llm.batch=true"],
        tmp_path,
    )
    assert done.returncode == 2
    assert (
        "llm.batch=true is for Anthropic (llm.model=anthropic/...) and for servers of OpenAI's batch"
        in done.stderr
    )


@pytest.mark.slow
@pytest.mark.parametrize("option", ["openai_compatible", "litellm"])
def test_a_run_that_is_killed_pays_nothing_twice(
    option: str, server: BatchServer, tmp_path: Path
) -> None:
    """Killed while its first wave is at the server, then run again: each line is paid once, and no
    key is in a file.
    """
    server.looks = 10**6
    claude = option == "litellm"
    address, model = (
        (server.address.removesuffix("/v1"), CLAUDE) if claude else (server.address, "tiny")
    )
    command = [
        *RUN,
        f"llm={option}",
        f"llm.api_base={address}",
        f"llm.model={model}",
        "llm.batch=true",
    ]
    command += ["llm.api_key_env=SECRET_KEY", "hydra.run.dir=run"]
    environment = {**os.environ, "SECRET_KEY": "sk-sesame"}
    with StartedCommand(command, tmp_path, environment=environment) as process:
        while not server.batches:
            time.sleep(0.1)
        time.sleep(1)  # the store keeps which requests went with it
        process.kill()
        process.wait(30)
    server.looks = 1
    done = run_convrag(command, tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    assert sum(server.paid.values()) >= 15, "a request of each turn"
    assert max(server.paid.values()) == 1
    assert re.search(
        r"^Batches: \d+ requests\. What was asked now cost \$0\.0\d+;", done.stdout, re.MULTILINE
    )
    asked_for_its_name = {""}  # without a key: whether the address is convrag's own server
    assert server.keys - asked_for_its_name == {"sk-sesame" if claude else "Bearer sk-sesame"}
    assert not any(
        b"sk-sesame" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
