"""The chat page for everybody: the keyboard alone, narrow screens, dark and light, and what
axe-core finds.
"""

import pytest

from web.browser import Server, find_violations, open_page
from web.chat_page import ChatPage

pytestmark = pytest.mark.slow

PHASES = "Why does the Moon have phases?"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_axe_finds_nothing_and_nothing_is_cut_off(browser, server: Server, width: int, scheme: str):
    with open_page(browser, server.address, width=width, height=740, color_scheme=scheme) as page:
        chat = ChatPage(page)
        chat.welcome.wait_for()
        found = check(chat, "welcome")
        chat.ask(PHASES)
        chat.last.locator(".suggestions button").first.wait_for()
        chat.last.get_by_text("Why this query?").click()
        found += check(chat, "an answer")
        chat.button("Edit the query").click()
        found += check(chat, "the query's editor")
        page.keyboard.press("Escape")
        chat.last.locator(".citation").first.click()
        found += check(chat, "a passage")
        page.keyboard.press("Escape")
        chat.button("Look inside").click()
        page.get_by_role("dialog", name="Inside this turn").get_by_role(
            "heading", name="Passages"
        ).wait_for()
        found += check(chat, "inside a turn")
        page.keyboard.press("Escape")
        chat.ask("Please fail", turn=2)
        found += check(chat, "a failed turn")
        chat.choose_action("Delete conversation")
        found += check(chat, "a question before deleting")
        assert found == []


def test_a_conversation_with_the_keyboard_alone(browser, server: Server):
    with open_page(browser, server.address) as page:
        chat = ChatPage(page)
        chat.welcome.wait_for()
        assert focused(page) == "Question"
        page.keyboard.type("Why does the Moon")
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("have phases?")
        page.keyboard.press("Enter")
        chat.wait()
        assert chat.read_records()[0]["original_query"] == "Why does the Moon\nhave phases?"
        assert focused(page) == "Question"
        page.get_by_role("status").filter(has_text="Answer: The phases of the Moon").wait_for(
            state="attached"
        )
        walk_to(page, "Source 1: Lunar phases", back=True)
        page.keyboard.press("Enter")
        chat.panel.get_by_role("heading", level=2).wait_for()
        assert chat.panel.get_by_role("heading", level=2).evaluate(
            "it => it === document.activeElement"
        )
        page.keyboard.press("Escape")
        assert focused(page) == "Source 1: Lunar phases"
        walk_to(page, "Edit the query", back=True)
        page.keyboard.press("Enter")
        assert focused(page) == "Query to search for"
        page.keyboard.press("Escape")
        assert focused(page) == "Edit the query"
        page.keyboard.press("Enter")
        page.keyboard.type("age of the Moon")
        page.keyboard.press("Enter")
        page.get_by_text("You chose this query.").wait_for(state="attached")
        chat.wait()
        walk_to(page, "Regenerate")
        page.keyboard.press("Enter")
        chat.last.locator(".text", has_text="Attempt").wait_for()
        chat.wait()
        walk_to(page, "Actions on this conversation", back=True)
        page.keyboard.press("Enter")
        walk_to(page, "Delete conversation")
        page.keyboard.press("Enter")
        assert focused(page) == "Cancel"
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        chat.welcome.wait_for()
        assert focused(page) == "Question"


def test_a_panel_that_closes_takes_no_focus_later(browser, server: Server):
    with open_page(browser, server.address) as page:
        chat = ChatPage(page)
        chat.ask(PHASES)
        chat.last.locator(".citation").first.click()
        chat.panel.get_by_role("heading", level=2).wait_for()
        went_on = """async () => {
            document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
            document.querySelector("textarea").focus();
            await new Promise((resolve) => setTimeout(resolve, 50));
            return document.activeElement.tagName;
        }"""
        assert page.evaluate(went_on) == "TEXTAREA"


def test_the_conversations_are_a_drawer_on_a_narrow_screen(browser, server: Server):
    with open_page(browser, server.address, width=360, height=740) as page:
        chat = ChatPage(page)
        chat.ask("What is a lunar eclipse?")
        opener = page.get_by_role("button", name="Conversations")
        opener.click()
        drawer = page.get_by_role("dialog", name="Conversations")
        drawer.get_by_role("link", name="What is a lunar eclipse?").first.wait_for()
        assert check(chat, "the drawer") == []
        page.keyboard.press("Escape")
        drawer.wait_for(state="hidden")
        assert opener.evaluate("it => it === document.activeElement")
        opener.click()
        drawer.get_by_role("link", name="New conversation").click()
        chat.welcome.wait_for()
        assert not drawer.is_visible()


def check(chat: ChatPage, state: str) -> list[str]:
    """What axe-core finds in a state of the page, and whether it is wider than the screen."""
    found = find_violations(chat.page)
    wide = chat.page.evaluate("""() => [...document.querySelectorAll("body, main, dialog[open]")]
        .filter((it) => it.scrollWidth > it.clientWidth).map((it) => it.className || it.tagName)""")
    return [f"{state}: {each}" for each in [*found, *(f"{name} is too wide" for name in wide)]]


def focused(page) -> str:
    """The accessible name of the element that has the focus, as far as this page needs it."""
    return page.evaluate("""() => {
        const it = document.activeElement;
        return it.getAttribute("aria-label") ?? (it.labels?.[0] ?? it).textContent.trim();
    }""")


def walk_to(page, name: str, *, back: bool = False) -> None:
    """Press Tab, or Shift+Tab, until the element of a name has the focus."""
    for _ in range(40):
        if focused(page) == name:
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{name} was not reached; the focus is at {focused(page)}")
