"""Fixtures of the tests in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from web.browser import Server, open_browser, open_page, serve
from web.chat_page import ChatPage

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium; tests that use it are skipped where it, or Playwright, is absent."""
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with llm=scripted and two configurations."""
    models = "task.models={gated: [], plain: ['rewriter=none']}"
    with serve(tmp_path_factory.mktemp("server"), models) as server:
        yield server


@pytest.fixture
def chat(browser: Browser, server: Server) -> Iterator[ChatPage]:
    """The chat page of that server, in a session of its own."""
    with open_page(browser, server.address) as page:
        yield ChatPage(page)
