"""What a person sees on a terminal: output on pyte's screen, and the command on a pseudo-terminal."""

import os
import select
import termios
import time
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from commands import LIBRARIES, StartedCommand
from convrag.sdk.output.console import make_console

pyte = pytest.importorskip("pyte")


class TerminalConsole:
    """A console on a terminal of pyte's. `written` is all that was written to it.

    A narrower window wraps no lines anew, as in xterm.
    """

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.file = StringIO()
        self.console: Console = make_console(
            file=self.file, force_terminal=True, width=columns, height=rows
        )
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000)
        self.screen.set_mode(pyte.modes.LNM)
        self._stream = pyte.Stream(self.screen)
        self.written = ""

    @property
    def lines(self) -> list[str]:
        """The lines that are seen, those that have scrolled away first; without empty ones at the
        end.
        """
        self._update()
        return list_lines(self.screen)

    @property
    def cursor_is_shown(self) -> bool:
        self._update()
        return not self.screen.cursor.hidden

    def _update(self) -> None:
        new = self.file.getvalue()[len(self.written) :]
        self.written += new
        self._stream.feed(new)


class ChatTerminal:
    """`python -m convrag task=chat` on a pseudo-terminal.

    Args:
        arguments: of the command, behind task=chat.
        folder: in which it runs.
        columns, rows: of the terminal.
        environment: further variables.
    """

    def __init__(
        self,
        arguments: Iterable[str],
        folder: Path,
        *,
        columns: int = 80,
        rows: int = 40,
        environment: dict[str, str] | None = None,
    ) -> None:
        others = {
            name: value
            for name, value in os.environ.items()
            if name not in ("COLUMNS", "LINES", "NO_COLOR")
        }
        variables = {**others, "TERM": "xterm-256color", **(environment or {})}
        self._terminal, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (rows, columns))
        self.process = StartedCommand(
            ["task=chat", *arguments],
            folder,
            environment=variables,
            libraries=LIBRARIES,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            terminal=True,
        )
        os.close(theirs)
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""

    @property
    def text(self) -> str:
        """The lines that are seen, those that have scrolled away first."""
        return "\n".join(list_lines(self.screen))

    @property
    def last_line(self) -> str:
        """The lowest line that is not empty."""
        return next((line for line in reversed(list_lines(self.screen)) if line), "")

    def type(self, keys: str | bytes) -> None:
        """Type keys; what the terminal sends for them."""
        os.write(self._terminal, keys.encode() if isinstance(keys, str) else keys)

    def ask(self, line: str) -> None:
        """Type a line at the prompt, wait until it is answered and the prompt is there again."""
        self.wait_for_prompt()
        prompts = self._count_prompts()
        self.type(f"{line}\r")
        self.wait_until(lambda: self._count_prompts() > prompts and self.last_line == ">")

    def wait_for(self, text: str, seconds: float = 60) -> None:
        """Wait until a text is seen."""
        self.wait_until(lambda: text in self.text, seconds, text)

    def wait_for_prompt(self) -> None:
        """Wait until the last line is the prompt."""
        self.wait_until(lambda: self.last_line == ">", what="the prompt")

    def wait_until(self, condition, seconds: float = 60, what: str = "") -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"not seen: {what}\n{self.text}"
            self.read()

    def read(self, seconds: float = 0.2) -> None:
        """Show what the command writes within some time."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return
        try:
            new = os.read(self._terminal, 65536)
        except OSError:  # the command has ended, and nobody has the other side
            return
        self.raw += new
        self._stream.feed(new)

    def resize(self, columns: int, rows: int = 40) -> None:
        """Make the window larger or smaller."""
        self.screen.resize(rows, columns)
        termios.tcsetwinsize(self._terminal, (rows, columns))

    def end(self, keys: str = "/quit\r") -> int:
        """Type the last line; the exit status."""
        self.type(keys)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end; the exit status."""
        end = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        self.read(0.1)
        status = self.process.wait(0)
        return 128 - status if status < 0 else status

    def close(self) -> None:
        """End the command, if it goes on, and close the terminal."""
        self.process.kill()
        self.process.wait()
        os.close(self._terminal)

    def _count_prompts(self) -> int:
        return sum(line.startswith(">") for line in list_lines(self.screen))


def list_lines(screen) -> list[str]:
    """The lines of a screen, those that have scrolled away first; without empty ones at the end."""
    gone = [
        "".join(line[column].data for column in range(screen.columns))
        for line in screen.history.top
    ]
    lines = [line.rstrip() for line in [*gone, *screen.display]]
    while lines and not lines[-1]:
        lines.pop()
    return lines
