"""task=serve with a real model in its process: through the openai client, and in Chromium."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from served import RunningServer, serve
from small_model import list_overrides, load, needs_small_model
from web.browser import open_browser, open_page
from web.chat_page import ChatPage

pytestmark = [pytest.mark.slow, pytest.mark.integration, needs_small_model]

QUESTION = "How far is the Moon from the Earth?"
LONG = "Tell me a long story about the Moon, with many details."
OVERRIDES = (
    "rewriter=none",
    "generator=direct",
    "generator.refuse=0",
    "top_k=1",
    "top_n=1",
    "llm.max_tokens=40",
)


@pytest.fixture(scope="module")
def loaded(small_model: Path) -> Any:
    return load(small_model)


@pytest.fixture(scope="module")
def server(
    loaded: Any, small_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    chosen = [
        override
        for override in list_overrides(small_model)
        if not override.startswith("llm.max_tokens")
    ]
    folder = tmp_path_factory.mktemp("served")
    with serve(folder, *chosen, *OVERRIDES, live=True) as running:
        yield running


def wait_until_free(loaded: Any) -> float:
    """Wait until the model answers nobody; return the seconds."""
    start = time.monotonic()
    assert loaded._lock.acquire(timeout=30)
    loaded._lock.release()
    return time.monotonic() - start


def test_the_openai_client(server: RunningServer, loaded: Any) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{server.address}/v1", api_key="none", timeout=120)
    messages = [{"role": "user", "content": QUESTION}]
    with client.chat.completions.create(model="convrag", messages=messages, stream=True) as stream:
        pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    whole = client.chat.completions.create(model="convrag", messages=messages)
    assert len([piece for piece in pieces if piece]) > 3
    assert "".join(pieces).strip() == whole.choices[0].message.content.strip()
    assert "<|im_end|>" not in whole.choices[0].message.content
    longer = [{"role": "user", "content": LONG}]
    with client.chat.completions.create(model="convrag", messages=longer, stream=True) as stream:
        next(chunk for chunk in stream if chunk.choices and chunk.choices[0].delta.content)
    assert wait_until_free(loaded) < 3
    client.close()


def test_the_page(server: RunningServer, loaded: Any) -> None:
    with open_browser() as browser, open_page(browser, server.address) as page:
        page.set_default_timeout(120_000)
        chat = ChatPage(page)
        chat.send(LONG)
        chat.last.locator(".text p").wait_for()
        chat.button("Stop").click()
        chat.wait_for_notice("Stopped. This turn is not kept.")
        assert wait_until_free(loaded) < 3
        assert chat.read_records() == []
        chat.ask(QUESTION, turn=2)
        first = chat.text
        assert first
        chat.button("Regenerate").click()
        page.wait_for_timeout(300)
        chat.wait()
        (record,) = chat.read_records()
        assert record["error"] == ""
        page.reload()
        chat.wait()
        assert chat.text
        assert "<|im_end|>" not in chat.text
