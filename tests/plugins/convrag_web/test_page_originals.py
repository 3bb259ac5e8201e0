"""The file of a document, opened from the chat page next to its text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from document_files import make_pdf
from web.browser import Server, find_violations, open_page, serve
from web.chat_page import ChatPage
from web.handbook import write_handbook

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def originals(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that shows the files of the handbook."""
    folder = tmp_path_factory.mktemp("originals")
    handbook: Path = write_handbook(folder)
    pages = [[f"The filter of pump {n} is cleaned after {n * 10} hours."] for n in range(1, 13)]
    (handbook / "machine.pdf").write_bytes(make_pdf(pages))
    (handbook / "ferry.html").write_text(
        "<h1>Ferry</h1><p id=when>The ferry to Deal leaves at noon.</p>"
        "<script>document.getElementById('when').textContent = location.origin</script>"
    )
    overrides = [f"dataset.path={handbook}", "rewriter=none", "llm=extractive"]
    with serve(folder, "dataset=documents", *overrides, "task.originals=true") as server:
        yield server


def open_document(chat: ChatPage, place: str):
    if not chat.last.locator(".cited-sources .source", has_text=place).count():
        chat.last.locator(".uncited summary").click()
    chat.last.locator(".source", has_text=place).first.click()
    chat.panel.get_by_role("button", name="Open the document").click()
    shown = chat.page.get_by_role("dialog", name="Document")
    shown.locator("mark").first.wait_for()
    return shown


@pytest.mark.parametrize("width", [1280, 390])
def test_a_pdf_opens_at_its_page(browser: Browser, originals: Server, width: int) -> None:
    with open_page(browser, originals.address, width=width) as page:
        chat = ChatPage(page)
        chat.ask("After how many hours is the filter of pump 9 cleaned?")
        shown = open_document(chat, "machine.pdf")
        link = shown.get_by_role("link", name="Open the file")
        assert str(link.get_attribute("href")).endswith("document=machine.pdf#page=9")
        assert link.is_visible()
        assert shown.evaluate("each => each.scrollWidth <= each.clientWidth")
        assert find_violations(page) == []
        reply = page.request.get(f"{originals.address}/{link.get_attribute('href')}")
        assert reply.headers["content-type"] == "application/pdf"
        assert reply.body().startswith(b"%PDF")


def test_a_web_page_runs_no_script(browser: Browser, originals: Server) -> None:
    with open_page(browser, originals.address) as page:
        chat = ChatPage(page)
        chat.ask("When does the ferry to Deal leave?")
        shown = open_document(chat, "ferry.html")
        with page.expect_popup() as opened:
            shown.get_by_role("link", name="Open the file").click()
        file = opened.value
        file.wait_for_load_state()
        assert file.locator("#when").inner_text() == "The ferry to Deal leaves at noon."
        assert file.evaluate("self.origin") == "null"
