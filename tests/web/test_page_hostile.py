"""Nothing that the chat page shows is taken for HTML, whatever a passage, a question, an answer or an error says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from web.browser import Server, open_page, serve
from web.chat_page import ChatPage
from web.scripted_llm import HOSTILE

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    passages = [
        {"_id": f"{number}{HOSTILE}", "title": f"Moon {HOSTILE}", "text": f"The Moon is hostile. {HOSTILE}", "url": url}
        for number, url in enumerate(["javascript:window.hurt=1", "https://elsewhere.example/page", HOSTILE])
    ]
    write_rows(folder / "corpus.jsonl", passages)
    write_rows(folder / "conversations.jsonl", [{"id": "a", "turns": [{"question": f"Is the Moon {HOSTILE}?"}]}])
    data = ["dataset=jsonl", "dataset.corpus=corpus.jsonl", "dataset.conversations=conversations.jsonl"]
    with serve(folder, *data) as server:
        yield server


def write_rows(path: Path, rows: list) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_hostile_texts_show_as_texts(browser, server: Server):
    with open_page(browser, server.address) as page:
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        chat = ChatPage(page)
        chat.welcome.locator(".suggestion", has_text=HOSTILE).wait_for()
        chat.ask(f"Is the Moon hostile? {HOSTILE}")
        assert HOSTILE in chat.last.locator(".question").inner_text()
        assert HOSTILE in chat.query
        assert HOSTILE in page.get_by_role("heading", level=1).inner_text() or "<img" in page.title()
        assert "<img" in page.locator("nav li .title").inner_text()
        assert HOSTILE.replace("&amp;", "&") in chat.text
        assert "<style>body" in chat.text
        assert "<form" in chat.text
        assert chat.last.locator(".text a").evaluate_all(
            "all => all.map((it) => [it.textContent, it.href, it.rel])"
        ) == [
            ["script", "", ""],
            ["page", "https://elsewhere.example/page", "noopener noreferrer"],
        ]
        links = []
        for number in (1, 2, 3):
            chat.last.locator(".source, .citation").filter(has_text=str(number)).first.evaluate("it => it.click()")
            assert HOSTILE in chat.panel.get_by_role("heading").first.inner_text()
            assert HOSTILE in chat.panel.locator(".passage-text").first.inner_text()
            links += chat.panel.locator("a").evaluate_all("all => all.map((it) => it.href)")
        assert links == ["https://elsewhere.example/page"]
        page.keyboard.press("Escape")
        chat.last.get_by_text("Why this query?").click()
        chat.button("Look inside").click()
        inside = page.get_by_role("dialog", name="Inside this turn")
        inside.get_by_role("heading", name="Passages").wait_for()
        assert HOSTILE in inside.inner_text()
        page.keyboard.press("Escape")
        page.reload()
        chat.wait()
        chat.choose_action("Delete conversation")
        assert "<img" in page.get_by_role("dialog").inner_text()
        page.wait_for_timeout(200)
        assert page.evaluate("() => window.hurt") is None
        assert page.locator("img, iframe, form:not(.query-editor)").count() == 0
        assert {address for address in requested if not address.startswith(server.address)} == set()


def test_a_hostile_error_shows_as_text(browser, server: Server):
    with open_page(browser, server.address) as page:
        chat = ChatPage(page)
        error = json.dumps({"error": {"message": HOSTILE}})
        page.route("**/turns", lambda route: route.fulfill(status=400, content_type="application/json", body=error))
        chat.send("Why?")
        chat.wait_for_notice(HOSTILE)
        page.route(
            "**/conversations/x", lambda route: route.fulfill(status=400, content_type="application/json", body=error)
        )
        page.evaluate("() => (location.hash = '#/conversation/x')")
        page.get_by_role("alert").filter(has_text="<img").wait_for()
        assert page.evaluate("() => window.hurt") is None
