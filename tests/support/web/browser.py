"""A browser for tests, and a server of convrag in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from commands import LIBRARIES, StartedCommand

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCRIPTED = Path(__file__).with_name("scripted_llm.py")
ARGUMENTS = """--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update
--disable-sync --disable-extensions --in-process-gpu"""
IMPATIENT = 30_000
"""Milliseconds for which a test waits for what should happen at once."""


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Open Chromium; skip the test where it, or Playwright, is absent."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="drives a browser: pip install playwright"
    )
    path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if path is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=ARGUMENTS.split())
        yield browser
        browser.close()


@contextmanager
def open_page(
    browser: Browser, address: str, *, width: int = 1280, height: int = 800, **options: Any
) -> Iterator[Page]:
    """Open an address in a session of its own. What the page's scripts throw, or report as violated
    policy, fails.

    Args:
        browser: of `open_browser`.
        address: of the page.
        width: of the window, in pixels.
        height: of the window, in pixels.
        options: of Playwright's `Browser.new_context`, such as color_scheme="dark".
    """
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    page = context.new_page()
    page.set_default_timeout(IMPATIENT)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "console",
        lambda message: troubles.append(message.text) if message.type == "error" else None,
    )
    page.goto(address)
    yield page
    context.close()
    # That a reply has an error's status is what some tests are about; the page shows it.
    assert [each for each in troubles if not each.startswith("Failed to load resource")] == []


@contextmanager
def serve(folder: Path, *arguments: str, port: int = 0, token: str = "") -> Iterator[Server]:
    """Run task=serve with llm=scripted in a process of its own, until the block ends.

    Args:
        folder: in which it runs.
        arguments: further ones of the command.
        port: to listen at; 0 takes a free one.
        token: that it asks for; empty for none.
    """
    pytest.importorskip("fastapi", reason="serves: pip install convrag[serve]")
    command = ["task=serve", f"task.port={port}", f"plugins=[{SCRIPTED}]"]
    command += [
        "llm=scripted",
        "rewriter=condense",
        "generator=direct",
        "generator.refuse=0",
        *arguments,
    ]
    variables = {name: value for name, value in os.environ.items() if name != "CONVRAG_TOKEN"}
    if token:
        variables["CONVRAG_TOKEN"] = token
    with StartedCommand(
        command,
        folder,
        environment=variables,
        libraries=LIBRARIES,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line)
                if found := re.search(r"http://\S+:\d+", line):
                    break
            else:
                raise AssertionError(f"the server did not start:\n{''.join(lines)}")
            yield Server(process, found[0])
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


class Server:
    """A running server: its process and its address."""

    def __init__(self, process: StartedCommand, address: str) -> None:
        self.process = process
        self.address = address

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return int(self.address.rpartition(":")[2])


def find_violations(page: Page) -> list[str]:
    """What axe-core finds on a page: rule, severity and the elements. Nothing minor is left out."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python"
    )
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {node['html'][:200]}"
        for each in found
        for node in each["nodes"]
    ]
