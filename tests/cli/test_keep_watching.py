"""Signals are watched on after an event loop, as that of the chat's prompt, has taken them over."""

import subprocess
import sys

import pytest

PROMPT = """
import asyncio, os, signal
from convrag.cli.signals import keep_watching, watch_signals

async def prompt():
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, lambda: None)
    loop.remove_signal_handler(signal.SIGWINCH)

watch_signals()
with keep_watching():
    asyncio.run(prompt())
    print(signal.set_wakeup_fd(-1))
print(signal.set_wakeup_fd(-1) >= 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGWINCH")
def test_signals_are_watched_on_after_an_event_loop() -> None:
    """After the first prompt nothing ended a main thread that hangs."""
    done = subprocess.run(
        [sys.executable, "-c", PROMPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("-1\nTrue\n", "")
