"""The document of a passage, opened in the chat page at the passage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from document_files import make_pdf
from web.browser import Server, find_violations, open_page, serve
from web.chat_page import ChatPage
from web.handbook import QUESTION, write_handbook

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def documents(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Path]]:
    """A server with the handbook, and the handbook's folder."""
    folder = tmp_path_factory.mktemp("documents")
    handbook = write_handbook(folder)
    pages = [
        [f"The filter of pump {n} is cleaned after {n * 10} hours of work."] for n in range(1, 13)
    ]
    (handbook / "machine.pdf").write_bytes(make_pdf(pages))
    with serve(
        folder, "dataset=documents", f"dataset.path={handbook}", "rewriter=none", "llm=extractive"
    ) as server:
        yield server, handbook


def open_passage(chat: ChatPage, place: str) -> Locator:
    """Open the passage with a place, and return the control that opens its document."""
    if not chat.last.locator(".cited-sources .source", has_text=place).count():
        chat.last.locator(".uncited summary").click()
    chat.last.locator(".source", has_text=place).first.click()
    return chat.panel.get_by_role("button", name="Open the document")


def read_time(server: Server) -> str:
    """When the server has read the documents."""
    return str(httpx.get(f"{server.address}/api/models").json()["models"][0]["read"])


def is_in_view(part: Locator) -> bool:
    """Whether the top of a part of the page is in the window."""
    return bool(
        part.evaluate(
            "part => { const { top } = part.getBoundingClientRect(); return top >= 0 && top < innerHeight; }"
        )
    )


@pytest.mark.parametrize("width", [1280, 390])
def test_a_document_opens_at_the_passage_that_is_marked(
    browser: Browser, documents: tuple[Server, Path], width: int
) -> None:
    with open_page(browser, documents[0].address, width=width) as page:
        chat = ChatPage(page)
        chat.ask("What is rule number 51 about?")
        opener = open_passage(chat, "rules 規則.md, 'Rules'")
        opener.focus()
        page.keyboard.press("Enter")
        shown = page.get_by_role("dialog", name="Document")
        mark = shown.locator("mark").first
        mark.wait_for()
        assert "Rule number 51" in "".join(shown.locator("mark").all_inner_texts())
        assert is_in_view(mark)
        assert mark.evaluate("mark => document.activeElement === mark")
        assert shown.get_by_role("heading", level=3).all_inner_texts() == ["# Rules"]
        assert shown.get_by_role("heading", level=4).count() == 60
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert shown.evaluate("each => each.scrollWidth <= each.clientWidth")
        assert find_violations(page) == []
        page.keyboard.press("Escape")
        shown.wait_for(state="hidden")
        assert opener.evaluate("button => document.activeElement === button")


def test_the_text_of_a_document_is_text(browser: Browser, documents: tuple[Server, Path]) -> None:
    with open_page(browser, documents[0].address) as page:
        chat = ChatPage(page)
        chat.ask(QUESTION)
        open_passage(chat, "policies/leave.md, 'Parental leave'").click()
        shown = page.get_by_role("dialog", name="Document")
        shown.locator("mark").first.wait_for()
        marked = "".join(shown.locator("mark").all_inner_texts())
        assert marked.startswith(
            "Parental leave is ten weeks"
        )  # the cited sentence, not the whole passage
        assert "<b>Both</b> parents" in marked
        assert shown.locator("b, a").count() == 0
        assert shown.get_by_text(
            "policies/leave.md"
        ).is_visible()  # also where the text has been scrolled
        assert "🙂 and 👩‍👩‍👧 as well." in shown.inner_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_pdf_opens_at_the_page_that_is_cited(
    browser: Browser, documents: tuple[Server, Path], width: int
) -> None:
    with open_page(browser, documents[0].address, width=width) as page:
        chat = ChatPage(page)
        chat.ask("After how many hours is the filter of pump 9 cleaned?")
        open_passage(chat, "machine.pdf").click()
        shown = page.get_by_role("dialog", name="Document")
        mark = shown.locator("mark").first
        mark.wait_for()
        assert "pump 9 is cleaned after 90 hours" in mark.inner_text()
        head = shown.locator("header")
        assert head.locator("p").inner_text() == "machine.pdf, page 9"
        assert is_in_view(head.locator("h2"))
        assert is_in_view(mark)
        names = "import('/static/view/names.js')"
        for url, address in (
            ("https://a.example/x.pdf", "https://a.example/x.pdf#page=9"),
            ("https://a.example/x", ""),
        ):
            assert page.evaluate(f"{names}.then((found) => found.getAddress('{url}', 9))") == (
                address or url
            )


def test_a_document_that_is_gone_is_said_to_be(
    browser: Browser, documents: tuple[Server, Path]
) -> None:
    """The last test of this file: it deletes a document, which the server notices."""
    server, handbook = documents
    with open_page(browser, server.address) as page:
        page.get_by_text("Documents read on").wait_for()
        chat = ChatPage(page)
        chat.ask("Where is the printer?")
        before = read_time(server)
        (handbook / "notes.txt").unlink()
        while read_time(server) == before:
            time.sleep(0.2)
        open_passage(chat, "notes.txt")
        chat.panel.get_by_text("The document is no longer there.").wait_for()
        assert "beside the kitchen" in chat.panel.inner_text()
        assert find_violations(page) == []
