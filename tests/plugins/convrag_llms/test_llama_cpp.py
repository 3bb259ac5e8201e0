"""llm=llama_cpp with a real model: see tests/support/small_model.py."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from convrag import ConvragError, LLMError, Message, Prompt
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.concurrency.streaming import listen_with
from convrag.testing import LLMContract
from convrag_llms.llama_cpp_llm import LlamaCpp
from small_model import SETTINGS, load, needs_small_model

pytestmark = [pytest.mark.slow, pytest.mark.integration, needs_small_model]

PROMPT = Prompt(
    "answer",
    (Message("system", "Be brief."), Message("user", "The Moon is grey. Which colour has it?")),
)
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string"}, "sure": {"type": "boolean"}},
    "required": ["colour", "sure"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def loaded(small_model: Path) -> Any:
    return load(small_model)


@pytest.fixture
def stage(loaded: Any, small_model: Path) -> LlamaCpp:
    return make(small_model)


def make(path: Path, **parameters: Any) -> LlamaCpp:
    return LlamaCpp(model=path, **{**SETTINGS, "max_tokens": 12, **parameters})


class TestLlamaCppContract(LLMContract):
    @pytest.fixture(autouse=True)
    def _model(self, loaded: Any, small_model: Path) -> None:
        self.path = small_model

    def make(self) -> LlamaCpp:
        return make(self.path, max_tokens=2)


def test_a_reply(stage: LlamaCpp) -> None:
    reply = stage.complete(PROMPT)
    assert reply.text
    assert reply.finish_reason in ("stop", "length")
    assert 1 <= reply.completion_tokens <= 12
    assert stage.count_tokens(PROMPT.messages[1].content) < reply.prompt_tokens < 60
    assert reply.cost_usd == 0.0
    assert reply.model == "small"
    assert stage.complete(PROMPT).text == reply.text


def test_tokens_are_counted_as_the_model_reads_them(stage: LlamaCpp) -> None:
    user = replace(PROMPT, messages=(Message("user", "Hello"),))
    longer = replace(PROMPT, messages=(Message("user", "Hello, how old is the Moon today?"),))
    more = stage.count_tokens("Hello, how old is the Moon today?") - stage.count_tokens("Hello")
    counted = stage.complete(longer).prompt_tokens - stage.complete(user).prompt_tokens
    assert counted == more > 0


def test_a_prefix_is_evaluated_once(stage: LlamaCpp) -> None:
    first = replace(PROMPT, messages=(Message("system", "Say what the colour of the Moon is."),))
    longer = replace(PROMPT, messages=(*first.messages, Message("user", "Of Mars?")))
    stage.complete(replace(PROMPT, messages=(Message("user", "Something else"),)))
    assert stage.complete(first).cached_tokens < 5
    reply = stage.complete(longer)
    assert 10 < reply.cached_tokens < reply.prompt_tokens


def test_a_seed_repeats_a_draw(small_model: Path, loaded: Any) -> None:
    drawing = make(small_model, temperature=1.5, seed=3)
    texts = [drawing.complete(replace(PROMPT, attempt=attempt)).text for attempt in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_a_reply_ends_at_a_stop_text_and_at_its_limit(stage: LlamaCpp) -> None:
    text = stage.complete(PROMPT).text
    word = text.split()[1]
    stopped = stage.complete(replace(PROMPT, sampling={"stop": [word]}))
    assert word not in stopped.text
    cut = stage.complete(replace(PROMPT, sampling={"max_tokens": 2}))
    assert (cut.completion_tokens, cut.finish_reason) == (2, "length")


def test_json_follows_a_schema(stage: LlamaCpp) -> None:
    response_format = {"type": "json_schema", "json_schema": {"name": "it", "schema": SCHEMA}}
    sampling = {"response_format": response_format, "max_tokens": 40}
    value = json.loads(stage.complete(replace(PROMPT, sampling=sampling)).text)
    assert set(value) == {"colour", "sure"}
    assert isinstance(value["sure"], bool)


def test_likely_first_words(stage: LlamaCpp) -> None:
    sampling = {"logprobs": True, "top_logprobs": 20, "max_tokens": 1}
    reply = stage.complete(replace(PROMPT, sampling=sampling))
    likeliest = max(reply.first_words, key=lambda word: reply.first_words[word])
    assert likeliest.strip() == reply.text
    assert 15 < len(reply.first_words) <= 20
    assert all(value <= 0 for value in reply.first_words.values())
    assert not stage.complete(PROMPT).first_words


def test_a_cancelled_call_ends_within_a_second_and_the_next_one_is_whole(stage: LlamaCpp) -> None:
    expected = stage.complete(PROMPT).text
    long = replace(PROMPT, messages=(Message("user", "The Moon is old. " * 300),))
    endless = replace(PROMPT, sampling={"max_tokens": 1000, "temperature": 2.0})
    for prompt in (long, endless):
        cancellation = Cancellation()
        timer = threading.Timer(0.5, cancellation.cancel)
        timer.start()
        with cancellation.apply(), pytest.raises(Cancelled):
            stage.complete(prompt)
        late = time.monotonic()
        timer.join()
        assert time.monotonic() - late < 1
    start = time.monotonic()
    assert stage.complete(PROMPT).text == expected
    assert time.monotonic() - start < 60


def test_the_seconds_of_a_cancellation(stage: LlamaCpp) -> None:
    long = replace(PROMPT, messages=(Message("user", "The Sun is old. " * 300),))
    cancelled_at: list[float] = []
    cancellation = Cancellation()

    def cancel() -> None:
        cancelled_at.append(time.monotonic())
        cancellation.cancel()

    threading.Timer(0.5, cancel).start()
    with cancellation.apply(), pytest.raises(Cancelled):
        stage.complete(long)
    assert time.monotonic() - cancelled_at[0] < 1


def test_a_call_that_waits_for_another_can_be_cancelled(stage: LlamaCpp) -> None:
    running = Cancellation()
    waiting = Cancellation()

    def ask(cancellation: Cancellation) -> None:
        with cancellation.apply():
            stage.complete(replace(PROMPT, sampling={"max_tokens": 1500, "temperature": 2.0}))

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, running)
        time.sleep(0.3)
        second = pool.submit(ask, waiting)
        time.sleep(0.3)
        waiting.cancel()
        with pytest.raises(Cancelled):
            second.result(timeout=5)
        assert not first.done()
        running.cancel()
        with pytest.raises(Cancelled):
            first.result(timeout=5)


def test_threads_and_stages_share_a_model(small_model: Path, loaded: Any) -> None:
    stages = [make(small_model), make(small_model, temperature=0.5)]
    assert {id(stage._model()) for stage in stages} == {id(loaded)}
    prompts = [replace(PROMPT, messages=(Message("user", f"Count to {n}"),)) for n in range(4)]
    alone = [stages[0].complete(prompt).text for prompt in prompts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda prompt: stages[0].complete(prompt).text, prompts)) == alone


def test_a_listener_that_fails_leaves_the_model_usable(stage: LlamaCpp) -> None:
    expected = stage.complete(PROMPT).text

    def fail(piece: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled), listen_with(fail):
        stage.complete(PROMPT)
    assert stage.complete(PROMPT).text == expected


def test_a_prompt_that_is_too_long(stage: LlamaCpp) -> None:
    prompt = replace(PROMPT, messages=(Message("user", "x " * 3000),))
    with pytest.raises(LLMError, match="exceed context window of 2048.*llm.context_size, now 2048"):
        stage.complete(prompt)
    assert stage.complete(PROMPT).text


def test_a_damaged_file(small_model: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(small_model.read_bytes()[:5_000_000])
    with pytest.raises(ConvragError, match=r"cannot load .*damaged\.gguf"):
        make(damaged).prepare()


def test_a_context_as_long_as_the_model_was_trained_for(small_model: Path) -> None:
    stage = make(small_model, context_size=None)
    assert stage._model().context_size == 8192
