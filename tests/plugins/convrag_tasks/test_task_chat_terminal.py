"""A whole chat on a pseudo-terminal: what a person types, and what is seen."""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from terminal_screen import ChatTerminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal"),
]

SLOW = '''
from convrag import LLM, Completion, Prompt, Rewrite, Rewriter, hookimpl
from convrag.concurrency.cancellation import sleep
from convrag.concurrency.streaming import current_listener


class Talker(LLM):
    """Streams a text word by word."""

    streams = True

    def __init__(self, *, text: str = "", delay: float = 0.01, thinking: float = 0.0) -> None:
        self.text = text
        self.thinking = thinking
        self.delay = delay

    def complete(self, prompt: Prompt) -> Completion:
        if prompt.task == "suggest":
            sleep(self.thinking)
            return Completion("How old is it?")
        text = self.text or prompt.inputs["question"]
        if listener := current_listener():
            for word in text.split(" "):
                listener(f"{word} ")
                sleep(self.delay)
        return Completion(text)

    def count_tokens(self, text: str) -> int:
        return len(text) // 4


class Stuck(Rewriter):
    """Hangs where nothing is heard of, in the way of C code."""

    def rewrite(self, question):
        import time

        end = time.monotonic() + (20 if "hang" in question.text else 0)
        while time.monotonic() < end:
            time.sleep(0.2)
        return Rewrite.of(question.text)


@hookimpl
def convrag_register(register):
    register("llm", "talker", Talker)
    register("rewriter", "stuck", Stuck)
'''

TALKER = ("plugins=[slow.py]", "llm=talker", "generator=direct", "rewriter=none")

Start = Callable[..., ChatTerminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts chats, waits for their prompts, and ends those that still run."""
    started: list[ChatTerminal] = []
    (tmp_path / "slow.py").write_text(SLOW)

    def start_chat(*arguments: str, **options) -> ChatTerminal:
        started.append(ChatTerminal(arguments, tmp_path, **options))
        started[-1].wait_for_prompt()
        return started[-1]

    yield start_chat
    for terminal in started:
        terminal.close()


@pytest.mark.parametrize("columns", [40, 120])
def test_a_conversation(start: Start, columns: int) -> None:
    terminal = start("task.suggestions=0", columns=columns)
    terminal.ask("How far is the Moon?")
    assert (
        "> How far is the Moon?\nSearching for: How far is the Moon?\n\nThe far side of the Moon"
        in terminal.text
    )
    number = re.search(r"\[(\d)\]", terminal.text)
    assert number
    assert "..." not in terminal.text  # the spinner
    assert max(map(len, terminal.text.splitlines())) <= min(columns, 100)
    terminal.ask(f"/passage {number[1]}")
    marked = [
        line[column]
        for line in terminal.screen.buffer.values()
        for column in line
        if line[column].reverse
    ]
    assert "".join(each.data for each in marked).startswith("The far side of the Moon")
    terminal.ask("/why")
    assert "Query    How far is the Moon?" in terminal.text
    assert not terminal.screen.cursor.hidden
    assert terminal.end() == 0
    assert "To go on:\n" in terminal.text


def test_editing_history_completion_and_leaving(start: Start) -> None:
    terminal = start("task.suggestions=0")
    terminal.type("/so")
    terminal.wait_for("the passages that the last answer was generated from")
    terminal.type("\t\r")
    terminal.wait_for("Ask a question first.")
    terminal.wait_for_prompt()
    terminal.type("dust?\x01Mon\x1b[Do\x1b[C\x1b\rand a second line, \r")
    terminal.wait_for("Searching for: Moon and a second line, dust?")
    terminal.wait_for_prompt()
    terminal.type("half a line\x03")
    terminal.wait_for("Ctrl-C again, or Ctrl-D, leaves.")
    terminal.wait_for_prompt()
    terminal.type("\x1b[A\x1b[A\x1b[A")  # the last entry has two lines
    terminal.wait_until(lambda: terminal.last_line == "> /sources")
    terminal.type("\x15")
    assert terminal.end("\x04") == 0
    again = start("task.suggestions=0")
    again.type("\x1b[A")
    again.wait_for("> Moon\n. and a second line, dust?")
    again.type("\x03")
    again.wait_for("leaves.")
    again.wait_for_prompt()
    assert again.end("\x03") == 0


def test_markdown_streams_and_a_window_may_change_its_size(start: Start) -> None:
    words = " ".join(f"word{number}" for number in range(80))
    terminal = start(
        *TALKER,
        f"llm.text='## Title\n\n- **one**\n- two\n\n{words} [1].'",
        "llm.delay=0.1",  # most words are still to come when the window changes
        "task.suggestions=1",
        columns=60,
    )
    terminal.type("How far is the Moon?\r")
    terminal.wait_for("word20")
    assert "\n • one\n • two\n" in terminal.text
    terminal.resize(100)
    terminal.wait_for("/1 How old is it?")
    assert terminal.text.count("word0 ") == 1
    assert terminal.text.split("two\n\n")[1].split("\n\nSources:")[0].split() == [
        *words.split(),
        "[1].",
    ]
    assert max(map(len, terminal.text.splitlines())) > 80
    terminal.ask("/1")
    assert "> How old is it?" in terminal.text


def test_nobody_waits_for_suggestions(start: Start) -> None:
    """The prompt came after them: with a slow model, a person waited twice as long."""
    terminal = start(*TALKER, "llm.thinking=3", "task.suggestions=3")
    terminal.type("a b c\r")
    terminal.wait_for("\na b c\n\n>", 2.5)
    terminal.type("a question")
    terminal.wait_for("  /1 How old is it?\n\n> a question", 9)  # above what is typed, which stays
    terminal.type("\x15d e f\r")
    terminal.wait_for("\nd e f\n\n  No passage is cited: /sources lists all\n\n>", 2.5)
    terminal.ask("x y z")  # gives up the call for suggestions in progress
    terminal.wait_for("x y z\n\n  /1 How old is it?\n\n>", 9)
    terminal.ask("/1")
    assert terminal.text.count("  /1 How old is it?\n") == 2
    assert "> How old is it?" in terminal.text
    assert terminal.end() == 0


def test_ctrl_c_drops_the_turn_and_the_chat_goes_on(start: Start) -> None:
    terminal = start(*TALKER, "llm.delay=0.2", "task.suggestions=0")
    terminal.type(
        "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n o p\r"
    )
    terminal.wait_for("\na b c d")
    terminal.type("\x03")
    terminal.wait_for("Interrupted; this turn is not kept.")
    terminal.wait_for_prompt()
    assert not terminal.screen.cursor.hidden
    terminal.ask("/history")
    assert "Ask a question first." in terminal.text
    assert terminal.end() == 0


def test_ctrl_c_is_heard_where_a_stage_hangs(start: Start) -> None:
    """The whole chat was ended, since the main thread was in the stage and did not react."""
    terminal = start("plugins=[slow.py]", "rewriter=stuck", "task.suggestions=0")
    terminal.type("hang\r")
    terminal.wait_for("Rewriting the question")
    terminal.type("\x03")
    terminal.wait_for("Interrupted; this turn is not kept.", 2)
    terminal.wait_for_prompt()
    terminal.read(3)  # it is not ended later on
    terminal.ask("/help")
    assert terminal.end() == 0


def test_what_is_typed_while_an_answer_is_drawn_waits_for_the_next_prompt(start: Start) -> None:
    terminal = start(*TALKER, "llm.delay=0.1", "task.suggestions=0")
    terminal.type("a b c d e f g h i j k l m n o p q r s t u v w x y z\r")
    terminal.wait_for("\na b c d")
    terminal.type("/passage x\r")
    terminal.wait_for("shows a passage.")
    terminal.wait_for_prompt()
    assert "> /passage x\n/passage NUMBER shows a passage." in terminal.text
    assert terminal.end() == 0


@pytest.mark.parametrize("waiting", ["at the prompt", "in a turn"])
def test_sigterm_leaves_the_terminal_as_it_was(start: Start, waiting: str) -> None:
    """A prompt's event loop took over the signals for good: after it nothing ended a main thread
    that hangs.
    """
    terminal = start(*TALKER, "llm.delay=1", "task.suggestions=0")
    if waiting == "in a turn":
        terminal.type("a b c d e f g h\r")
        terminal.wait_for("\na b c")
    os.kill(terminal.process.pid, signal.SIGTERM)
    assert terminal.wait() == 143
    assert not terminal.screen.cursor.hidden
    assert "^[" not in terminal.text


def test_hostile_text_is_shown_and_not_obeyed(start: Start, tmp_path: Path) -> None:
    hostile = "\\x1b[2J\\x1b]0;pwned\\x07\\x9b2J\\u202e"
    text = f"a{hostile}b [l{hostile}](http://e{hostile}) [1]"
    (tmp_path / "slow.py").write_text(SLOW.replace("self.text or", f'"{text}" or'))
    terminal = start(*TALKER)
    terminal.ask("clear?")
    terminal.ask("/history")
    assert "a␛[2J␛]0;pwned␇" in terminal.text
    assert terminal.screen.title == ""
    for forbidden in (b"\x1b[2J", b"\x1b]0;pwned", b"\xc2\x9b", "\u202e".encode()):
        assert forbidden not in terminal.raw
    terminal.type(b"bad \xff\xfe bytes\r")
    terminal.wait_for("Searching for: bad ")
    terminal.wait_for_prompt()
    terminal.type("\x1b[200~" + "y" * 50_000 + "\x1b[201~")
    terminal.type("\x15/nosuch\r")
    terminal.wait_for("There is no command /nosuch")
    terminal.wait_for_prompt()
    assert terminal.end("/quit\r") == 0


@pytest.mark.parametrize(
    ("environment", "styled", "drawn"),
    [({"NO_COLOR": "1"}, False, True), ({"TERM": "dumb"}, False, False)],
)
def test_terminals_without_colours_and_without_a_cursor(
    start: Start, environment: dict[str, str], styled: bool, drawn: bool
) -> None:
    terminal = start(
        *TALKER, "llm.text='**bold** [1]'", "task.suggestions=0", environment=environment
    )
    terminal.ask("what?")
    assert ("\nbold [1]" in terminal.text) == drawn
    assert ("**bold** [1]" in terminal.text) != drawn
    colours = {line[column].fg for line in terminal.screen.buffer.values() for column in line}
    assert (colours == {"default"}) != styled
    assert (b"\x1b[" in terminal.raw) == drawn
    assert terminal.end() == 0
