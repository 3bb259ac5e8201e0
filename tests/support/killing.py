"""A grid that is killed at a moment of its life and started again, beside one that nobody
disturbed.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from commands import StartedCommand
from convrag.api.records import EXIT_STATUS

BOARDS = ("leaderboard.md", "leaderboard.csv")

COUNTING = """
import time
from hashlib import blake2b
from pathlib import Path
from convrag import LLM, Completion, hookimpl

class CountingLLM(LLM):
    "Answers with some words of the request, rewrites nothing, after a while, and writes down that it was asked."
    def complete(self, prompt):
        text = " ".join(message.content for message in prompt.messages)
        seed = blake2b(text.encode(), digest_size=8).digest()
        with Path("asked.txt").open("a") as file:
            file.write(seed.hex() + "\\n")
        time.sleep(0.02)
        while Path("hold").exists():  # a test is not ready yet
            time.sleep(0.01)
        words = text.split()
        if prompt.task == "rewrite":  # another rewrite would be rejected, and the run partial
            return Completion(prompt.inputs["question"], len(words), 8, cost_usd=0.001)
        if prompt.task == "nuggets":  # so would it be without tags
            text = f"<IN>{prompt.inputs['passage']}</IN>"
            return Completion(text, len(words), len(text.split()), cost_usd=0.001)
        return Completion(" ".join(words[byte % len(words)] for byte in seed), len(words), 8, cost_usd=0.001)
    def count_tokens(self, text):
        return len(text.split())

@hookimpl
def convrag_register(register):
    register("llm", "counting", CountingLLM)
"""
"""An LLM as a plugin file: its line for each call survives a kill."""


@dataclass(frozen=True)
class Grid:
    """A grid in a folder of its own.

    Args:
        folder: where it runs.
        arguments: of the command.
        asked: how many calls its LLM has answered so far.
        kind: under which the store keeps their replies.
        itself: whether it is started as `python -m convrag`, as launchers need it, not forked.
    """

    folder: Path
    arguments: Sequence[str]
    asked: Callable[[], int]
    kind: str
    itself: bool = False

    def start(self) -> StartedCommand | subprocess.Popen[bytes]:
        """As the leader of a process group: workers of a launcher die with it."""
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        with (self.folder / "out.txt").open("ab") as said:
            if not self.itself:
                return StartedCommand(
                    self.arguments,
                    self.folder,
                    environment=environment,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    session=True,
                )
            return subprocess.Popen(
                [sys.executable, "-m", "convrag", *self.arguments],
                cwd=self.folder,
                env=environment,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def finish(self, tries: int = 1) -> float:
        """Run it to its end, which must be a good one; the seconds that it took.

        Args:
            tries: how often it is run at most. It is run again where the status says that turns
                failed.
        """
        start = time.monotonic()
        for _ in range(tries):
            status = self.start().wait(timeout=600)
            if status != EXIT_STATUS["partial"]:
                break
        assert status == 0, (
            f"exit status {status}: " + (self.folder / "out.txt").read_text()[-3000:]
        )
        return time.monotonic() - start

    def kill_when(self, reached: Callable[[float], bool]) -> None:
        """Start it, and kill it with all that it started when this holds of the seconds since then."""
        start = time.monotonic()
        process = self.start()
        while process.poll() is None and not reached(time.monotonic() - start):
            time.sleep(0.002)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stored(self) -> int:
        """How many of the LLM's replies are in the store."""
        path = self.folder / "outputs/store/store.sqlite"
        if not path.exists():
            return 0
        connection = sqlite3.connect(path)
        try:
            (count,) = connection.execute(
                "SELECT count(*) FROM entries WHERE kind = ?", (self.kind,)
            ).fetchone()
            return int(count)
        except sqlite3.OperationalError:  # killed before there was a table
            return 0
        finally:
            connection.close()

    def boards(self) -> dict[str, bytes]:
        """The leaderboard's files."""
        (folder,) = self.folder.glob("outputs/sweeps/*")
        return {name: (folder / name).read_bytes() for name in BOARDS}


def counting(folder: Path, *arguments: str, itself: bool = False) -> Grid:
    """A grid whose LLM is `COUNTING`."""
    folder.mkdir(exist_ok=True)
    (folder / "counting.py").write_text(COUNTING)
    asked = folder / "asked.txt"
    asked.touch()
    arguments = (*arguments, "plugins=[counting.py]", "llm=counting")
    return Grid(
        folder,
        arguments,
        lambda: len(asked.read_text().splitlines()),
        "CountingLLM.complete",
        itself,
    )


def check_killed(
    disturbed: Grid, calm: Grid, reached: Callable[[float], bool], tries: int = 1
) -> tuple[int, int]:
    """Kill a grid and run it again: it must end as the calm one did, and ask nothing whose reply
    was stored.

    Args:
        disturbed: a fresh grid.
        calm: the same one, undisturbed, which made each call once.
        reached: when to kill (see `Grid.kill_when`).
        tries: how often it is run again at most, where turns fail.

    Returns:
        How many replies were stored when it was killed, and how many calls were made afterwards.
    """
    disturbed.kill_when(reached)
    stored, asked = disturbed.stored(), disturbed.asked()
    disturbed.finish(tries)
    again = disturbed.asked() - asked
    assert disturbed.boards() == calm.boards()
    assert again == calm.stored() - stored
    return stored, again
