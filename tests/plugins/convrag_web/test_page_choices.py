"""A question back on the chat page: its choices are buttons, and its signals stand in words inside
the turn.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from web.browser import open_page, serve
from web.chat_page import ChatPage

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def test_a_choice_is_a_button_that_answers(browser: Browser, tmp_path: Path) -> None:
    for city, hour in (("Berlin", "nine"), ("Munich", "ten")):
        text = f"# Library {city}\n\nThe library in {city} opens at {hour} o'clock.\n"
        (tmp_path / f"{city}.md").write_text(text, encoding="utf-8")
    chosen = ("dataset=documents", f"dataset.path={tmp_path}", "rewriter=none", "llm=asking")
    with (
        serve(tmp_path, *chosen, "generator.refuse=0.5", "generator.ask=auto") as server,
        open_page(browser, server.address) as page,
    ):
        chat = ChatPage(page)
        chat.ask("When does the library open?")
        assert chat.text.startswith("Which of these do you mean?")
        page.locator(".suggestions").get_by_role("button", name="Library Munich").click()
        chat.wait(2)
        assert chat.text.startswith("Library Munich")
        assert (
            page.locator(".suggestions").get_by_role("button", name="Library Munich").count() == 0
        )
        page.get_by_role("button", name="Look inside").first.click()
        page.get_by_text(
            "Asked back by the model: the nearest passage has 2 of the 2 words that matter"
        ).first.wait_for()
