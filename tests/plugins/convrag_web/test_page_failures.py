"""What the chat page shows and does where something fails: the model, the connection, the server,
the token.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from web.browser import Server, open_page, serve
from web.chat_page import ChatPage

pytestmark = pytest.mark.slow

NARROW = ("task.workers=1", "task.queue=0")
PHASES = "Why does the Moon have phases?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    """A server with a token, and with room for one turn; the last test ends it."""
    with serve(folder, *NARROW, token="sesame") as server:
        yield server


@pytest.fixture
def chat(browser, server: Server) -> Iterator[ChatPage]:
    with open_page(browser, server.address) as page:
        give_token(page, "sesame")
        chat = ChatPage(page, token="sesame")
        chat.welcome.wait_for()
        yield chat


def give_token(page, token: str) -> None:
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Continue").click()


def test_the_token_is_asked_for_once(browser, server: Server, tmp_path: Path):
    with open_page(browser, server.address) as page:
        give_token(page, "guess")
        page.get_by_text("The server did not accept that token.").wait_for()
        assert page.get_by_role("dialog").count() == 1
        give_token(page, "sesame")
        chat = ChatPage(page, token="sesame")
        chat.ask(PHASES)
        with page.expect_download() as download:
            chat.choose_action("Export as JSON")
        download.value.save_as(tmp_path / "exported")
        assert PHASES in (tmp_path / "exported").read_text()
        page.reload()
        chat.wait()
        assert page.get_by_label("Token", exact=True).count() == 0
        assert page.evaluate("() => Object.values(localStorage)") == []


def test_a_turn_that_fails_says_why_and_can_be_tried_again(chat: ChatPage):
    chat.ask("Please fail")
    chat.wait_for_notice(
        "There is no answer to this question. generator: the model is out of order"
    )
    chat.button("Try again").click()
    chat.wait_for_notice("generator: the model is out of order")
    chat.ask(PHASES, turn=2)
    assert "The phases of the Moon" in chat.text


def test_an_unknown_conversation_leads_to_a_new_one(chat: ChatPage):
    chat.page.evaluate("() => (location.hash = '#/conversation/gone')")
    chat.page.get_by_role("alert").filter(has_text="there is no such conversation").wait_for()
    chat.welcome.wait_for()
    assert chat.ids == []


def test_a_busy_server_is_asked_again(browser, server: Server, chat: ChatPage):
    chat.send("What are craters made of? Write slowly.")
    chat.last.locator(".text p").wait_for()
    with open_page(browser, server.address) as page:
        give_token(page, "sesame")
        other = ChatPage(page, token="sesame")
        other.send(PHASES)
        other.last.locator(
            ".status", has_text="The server is busy. It is asked again in"
        ).wait_for()
        chat.button("Stop").click()
        other.wait()
        assert "The phases of the Moon" in other.text


def test_a_lost_server_is_noticed_and_found_again(chat: ChatPage, server: Server, folder: Path):
    chat.ask(PHASES)
    chat.send("What are craters made of? Write slowly.")
    chat.last.locator(".text p").wait_for()
    server.process.kill()
    chat.wait_for_notice(
        "There is no answer. The server may go on with it. The connection to the server was lost."
    )
    banner = chat.page.get_by_role("alert")
    banner.filter(has_text="The server does not answer.").wait_for()
    chat.button("Try again").click()
    chat.wait_for_notice("The connection to the server was lost.")
    with serve(folder, *NARROW, port=server.port, token="sesame"):
        banner.wait_for(state="hidden", timeout=60_000)
        chat.button("Try again").click()
        chat.last.locator(".text p").wait_for()
        chat.button("Stop").click()
        chat.ask("How far is it from the Earth?", turn=3)
        assert len(chat.read_records()) == 2
