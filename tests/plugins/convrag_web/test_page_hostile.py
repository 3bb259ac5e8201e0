"""Nothing that the chat page shows is taken for HTML, whatever a passage, a question, an answer or
an error says.
"""

import json

import pytest

from web.browser import Server, open_page
from web.chat_page import ChatPage
from web.hostile_corpus import LINK
from web.scripted_llm import HOSTILE

pytestmark = pytest.mark.slow


def test_hostile_texts_show_as_texts(browser, server: Server):
    with open_page(browser, server.address) as page:
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        chat = ChatPage(page)
        page.get_by_label("Configuration").select_option("hostile")
        chat.welcome.locator(".suggestion", has_text=HOSTILE).wait_for()
        chat.ask(f"Is the Moon hostile? {HOSTILE}")
        assert HOSTILE in chat.last.locator(".question").inner_text()
        assert HOSTILE in chat.query
        assert (
            HOSTILE in page.get_by_role("heading", level=1).inner_text() or "<img" in page.title()
        )
        assert "<img" in page.locator("nav [aria-current] .title").inner_text()
        assert HOSTILE.replace("&amp;", "&") in chat.text
        assert "<style>body" in chat.text
        assert "<form" in chat.text
        assert chat.last.locator(".text a").evaluate_all(
            "all => all.map((it) => [it.textContent, it.href, it.rel])"
        ) == [["script", "", ""], ["page", LINK, "noopener noreferrer"]]
        links = []
        for number in (1, 2, 3):
            chat.last.locator(".source, .citation").filter(has_text=str(number)).first.evaluate(
                "it => it.click()"
            )
            assert HOSTILE in chat.panel.get_by_role("heading").first.inner_text()
            assert HOSTILE in chat.panel.locator(".passage-text").first.inner_text()
            links += chat.panel.locator("a").evaluate_all("all => all.map((it) => it.href)")
        assert links == [LINK]
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
        page.route(
            "**/turns",
            lambda route: route.fulfill(status=400, content_type="application/json", body=error),
        )
        chat.send("Why?")
        chat.wait_for_notice(HOSTILE)
        page.route(
            "**/conversations/x",
            lambda route: route.fulfill(status=400, content_type="application/json", body=error),
        )
        page.evaluate("() => (location.hash = '#/conversation/x')")
        page.get_by_role("alert").filter(has_text="<img").wait_for()
        assert page.evaluate("() => window.hurt") is None
