"""How an answer looks on a terminal while it grows, and afterwards: on the screen of a terminal
emulator.
"""

import io
import logging
import time
from collections.abc import Iterator

import pytest

from convrag_tasks.chat.answer_display import AnswerDisplay
from convrag_tasks.chat.conversation import hold_log_lines
from convrag_tasks.chat.markdown import print_markdown, split_finished_blocks
from terminal_screen import TerminalConsole

ANSWER = """# The Moon

The Moon is **far away** [1]: some *384,400 km*, see [NASA](https://nasa.example/moon) and `code`.

1. First item with a rather long text that must be wrapped
2. Second
   - nested

```python
def distance(body):
    return 384_400
```

| body | km |
|---|---:|
| Moon | 384,400 |

[1]: https://evil.example
<script>alert(1)</script> ![x](http://img) <http://auto> a<b and c>d [1][2]
"""

SHOWN = """The Moon

The Moon is far away [1]: some 384,400
km, see NASA (https://nasa.example/moon)
and code.

 1 First item with a rather long text
   that must be wrapped
 2 Second
    • nested

 def distance(body):
     return 384_400

 body       km
 ─────────────
 Moon  384,400

[1]: https://evil.example
<script>alert(1)</script> !x
(http://img) <http://auto> a<b and c>d
[1][2]"""


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The time of time.monotonic, in seconds."""
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    return clock


def show(terminal: TerminalConsole, now: list[float], text: str, size: int = 7) -> AnswerDisplay:
    """Show an answer in pieces, each drawn."""
    display = AnswerDisplay(
        terminal.console, lambda line, style: terminal.console.print(line, style=style)
    )
    for start in range(0, len(text), size):
        display.add_piece(text[start : start + size])
        now[0] += 1
        display.tick()
    return display


def test_markdown_is_laid_out_and_hides_nothing() -> None:
    terminal = TerminalConsole(40)
    print_markdown(terminal.console, ANSWER)
    assert terminal.lines == SHOWN.splitlines()


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("rows", [6, 30])
def test_an_answer_in_pieces_looks_like_the_whole(now: list[float], size: int, rows: int) -> None:
    terminal = TerminalConsole(40, rows)
    show(terminal, now, ANSWER, size).close()
    assert terminal.lines == ["", *SHOWN.splitlines()]
    assert terminal.cursor_is_shown


def test_finished_blocks_and_the_rest_make_up_the_text() -> None:
    blocks, rest = split_finished_blocks(ANSWER)
    assert "".join([*blocks, rest]) == ANSWER
    assert [block.split()[0] for block in blocks] == ["#", "The", "1.", "```python", "|"]
    assert split_finished_blocks("One.\n\n- a\n\n- b") == (["One.\n\n"], "- a\n\n- b")
    assert split_finished_blocks("") == ([], "")
    assert split_finished_blocks("```\na\n\nb") == ([], "```\na\n\nb")
    assert split_finished_blocks("a\u2028b\n\nc") == (["a\u2028b\n\n"], "c")


def test_a_long_answer_keeps_its_beginning_above(now: list[float]) -> None:
    terminal = TerminalConsole(40, 8)
    text = "\n".join(f"- point {number}" for number in range(100))
    display = show(terminal, now, text, 50)
    assert terminal.lines[-1] == " • point 99"
    display.close()
    assert terminal.lines == ["", *(f" • point {number}" for number in range(100))]


def test_the_spinner_says_what_goes_on_and_leaves_nothing(now: list[float]) -> None:
    terminal = TerminalConsole(40)
    display = AnswerDisplay(
        terminal.console, lambda line, style: terminal.console.print(line, style=style)
    )
    display.show_doing("Searching")
    display.tick()
    assert terminal.lines == []  # a quick turn shows none
    now[0] += 3
    display.tick()
    assert [line[1:] for line in terminal.lines] == [" Searching ... 3 s"]
    assert not terminal.cursor_is_shown
    display.print_line("Searching for: tea", "cyan")
    now[0] += 10
    display.tick()
    assert terminal.lines[0] == "Searching for: tea"
    assert [line[1:] for line in terminal.lines[1:]] == [" Searching ... 13 s"]
    display.add_piece("Tea.")
    now[0] += 1
    display.tick()
    assert terminal.lines == ["Searching for: tea", "", "Tea."]
    display.close()
    assert terminal.lines == ["Searching for: tea", "", "Tea."]
    assert terminal.cursor_is_shown


def test_a_narrow_terminal_has_a_spinner_of_one_line(now: list[float]) -> None:
    terminal = TerminalConsole(12)
    display = AnswerDisplay(terminal.console, lambda line, style: None)
    display.show_doing("Putting the evidence together")
    now[0] += 5
    display.tick()
    assert [line[1:] for line in terminal.lines] == [" Putting t…"]


def test_nothing_of_an_answer_is_obeyed(now: list[float]) -> None:
    hostile = 'a \x1b[2J\x1b]0;title\x07 \x9b2J \u202eevil &#x202e;x\r\nb \x00 [l\x1b[2J](http://e/\x1b[2J "t\x1b[2J")'
    hostile += "\n\n```\x1b[2J\n\x1b[2J\n```\n\n| a\x1b[2J |\n|---|\n| b\x1b[2J |\n"
    terminal = TerminalConsole(60)
    show(terminal, now, hostile, 3).close()
    assert "␛[2J" in "\n".join(terminal.lines)
    for forbidden in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e", "\x00"):
        assert forbidden not in terminal.written


def test_log_lines_come_behind_the_answer_and_failures_of_stages_do_not() -> None:
    root, said = logging.getLogger(), io.StringIO()
    handler = logging.StreamHandler(said)
    root.addHandler(handler)
    try:
        with hold_log_lines():
            logging.getLogger("convrag.x").warning("a key is missing")
            logging.getLogger("convrag.turn.logs").warning("turn 1: rewriter failed")
            assert not said.getvalue()
        logging.getLogger("convrag.x").warning("later")
    finally:
        root.removeHandler(handler)
    assert said.getvalue() == "a key is missing\nlater\n"


def test_an_answer_that_restarts_keeps_nothing_of_what_came_before(now: list[float]) -> None:
    terminal = TerminalConsole(40)
    display = show(terminal, now, "Is it Hull?")
    display.restart("The text until here is a thought.")
    display.add_piece("Hull.")
    display.close()
    assert display.text == "Hull."
    assert [line for line in terminal.lines if line] == [
        "Is it Hull?",
        "The text until here is a thought.",
        "Hull.",
    ]
