"""Open WebUI in Chromium: a chat of three turns, its chips, and an opened source."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

from client_asking import FIRST, FOLLOW_UP, SECOND

START_SECONDS = 300


@contextmanager
def serve(python: Path, address: str, folder: Path) -> Iterator[str]:
    """The address of an Open WebUI whose models are those of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "OPENAI_API_BASE_URL": address,
        "OPENAI_API_KEY": "none",
        "ENABLE_OLLAMA_API": "False",
        "WEBUI_AUTH": "False",
        "WEBUI_SECRET_KEY": "none",
        "OFFLINE_MODE": "True",
        "HF_HUB_OFFLINE": "1",
        "RAG_EMBEDDING_ENGINE": "openai",
        "DATA_DIR": str(folder / "data"),
    }
    command = [
        str(python.parent / "open-webui"),
        "serve",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **settings}, stdout=log, stderr=log
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def wait_for(url: str) -> None:
    """Wait until an address answers."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            urlopen(url, timeout=5).read()
            return
        except (URLError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(1)


def ask(page: Page, question: str, turn: int) -> None:
    """Ask, and wait until the answer has its sources."""
    page.locator("#chat-input").click()
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    page.get_by_text("Source", exact=False).nth(turn - 1).wait_for()
    time.sleep(3)  # what moves comes to rest


def main() -> None:
    """Chat; the answers' marks are chips, and a source opens at its passage."""
    address, _, *pictures, python = sys.argv[1:]
    shots = Path(pictures[0]) if pictures else None
    arguments = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--in-process-gpu"]
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(python), address, Path(folder)) as chat,
        sync_playwright() as started,
    ):
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = browser.new_page(viewport={"width": 1180, "height": 900})
        page.set_default_timeout(60_000)
        page.goto(chat)
        start = page.get_by_role("button", name="Okay, Let's Go!")
        start.wait_for()
        start.click()
        for turn, question in enumerate((FIRST, SECOND, FOLLOW_UP), start=1):
            ask(page, question, turn)
        assert page.title().startswith(FIRST[:20]), (
            page.title()
        )  # the title is a chore, which made no turn
        answers = page.locator(".chat-assistant")
        text = answers.last.inner_text()
        assert "[1]" not in text, f"a mark is no chip: {text}"
        if shots:
            page.screenshot(path=shots / "openwebui-chat.png")
        answers.last.locator("button", has_text=".md").first.click()
        link = page.locator("[href*='/source?']").first
        link.wait_for()
        with page.context.expect_page() as opened:
            link.click()
        source = opened.value
        source.locator("mark#passage").wait_for()
        assert source.locator("mark#passage").inner_text().strip()
        if shots:
            source.set_viewport_size({"width": 1180, "height": 420})
            source.screenshot(path=shots / "openwebui-source.png")
        chips = answers.last.locator("button", has_text=".md").count()
        browser.close()
    sys.stdout.write(f"\n{json.dumps({'answer': text, 'sources': chips})}\n")


main()
