"""The chat page as a user knows it: asking, reading, choosing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from urllib.request import Request, urlopen

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

DONE = (
    ".row:last-child .answer:not([aria-busy=true]) .actions button, .row:last-child .notice button"
)


class ChatPage:
    """A page that shows the chat.

    Args:
        page: of Playwright.
        token: that the server asks for; empty for none.
    """

    def __init__(self, page: Page, token: str = "") -> None:
        self.page = page
        self.headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )
        self.welcome = page.locator(".welcome")
        self.input = page.get_by_label("Question", exact=True)
        self.last = page.locator(".row").last
        self.panel = page.get_by_role("dialog", name="Passage")

    def ask(self, question: str, *, turn: int = 1) -> None:
        """Ask a question that will be turn number `turn`, and wait for its answer."""
        self.send(question)
        self.wait(turn)

    def send(self, question: str) -> None:
        """Ask a question as soon as there is a field for it, and do not wait."""
        self.page.locator(".welcome, .thread").first.wait_for(state="attached")
        self.input.fill(question)
        self.input.press("Enter")

    def wait(self, turn: int = 1) -> None:
        """Wait until there are so many turns, and the last one has ended."""
        self.page.locator(".row").nth(turn - 1).wait_for()
        self.page.locator(DONE).first.wait_for()

    def wait_for_notice(self, text: str) -> None:
        """Wait until a notice below the last question says so."""
        self.last.locator(".notice", has_text=text).wait_for()

    @property
    def text(self) -> str:
        """The last answer."""
        return self.last.locator(".text").inner_text()

    @property
    def query(self) -> str:
        """The last query."""
        return self.last.locator(".query-text").inner_text()

    @property
    def ids(self) -> list[str]:
        """The ids of the conversations that are shown, as the address has them."""
        return [unquote(part) for part in self.page.url.partition("#")[2].split("/")[2:] if part]

    def button(self, name: str) -> Locator:
        """The last button of a name."""
        return self.page.get_by_role("button", name=name).last

    def choose_action(self, name: str) -> None:
        """Choose from the menu of the conversation."""
        self.button("Actions on this conversation").click()
        self.page.locator(".menu").get_by_role("button", name=name).click()

    def read_records(self, place: int = 0) -> list[Mapping[str, Any]]:
        """The turns that the server keeps of a conversation that is shown."""
        return list(self.call("GET", f"/api/conversations/{self.ids[place]}")["records"])

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Call the server's API. Raises urllib.error.HTTPError."""
        address = self.page.url.partition("/#")[0].rstrip("/") + path
        data = None if body is None else json.dumps(body).encode()
        request = Request(address, data, self.headers, method=method)
        with urlopen(request, timeout=10) as reply:
            return (
                json.load(reply)
                if reply.headers.get_content_type() == "application/json"
                else reply.read()
            )
