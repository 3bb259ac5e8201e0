"""Fixtures of the tests in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from web.browser import Server, open_browser, open_page, serve
from web.chat_page import ChatPage
from web.hostile_corpus import write_hostile_corpus

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; tests that use it are skipped where it, or Playwright, is absent.

    While it is open, Playwright's event loop counts as running in this thread, where other modules
    run their own.
    """
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with llm=scripted and three configurations; that named hostile has a hostile data
    set.
    """
    folder = tmp_path_factory.mktemp("server")
    hostile = write_hostile_corpus(folder)
    models = f"gated: [], plain: ['rewriter=none'], hostile: {hostile}"
    with serve(folder, f"task.models={{{models}}}") as server:
        yield server


@pytest.fixture
def chat(browser: Browser, server: Server) -> Iterator[ChatPage]:
    """The chat page of that server, in a session of its own."""
    with open_page(browser, server.address) as page:
        yield ChatPage(page)
