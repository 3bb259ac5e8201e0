"""How a chat reads lines: editing, history, completion, and input that is no text."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from chat_toys import Chat
from convrag_tasks.chat.line_input import (
    EditingReader,
    PlainReader,
    QuestionHistory,
    make_completer,
    make_reader,
)


class Keyboard:
    """A reader, and the keys that are typed for it."""

    def __init__(self, keys: PipeInput, folder: Path) -> None:
        self.keys = keys
        self.chat = Chat(folder)
        self.path = folder / "store" / "chat_history"
        self.reader = self.make_reader()

    def make_reader(self) -> EditingReader:
        return EditingReader(self.path, make_completer(lambda: self.chat.loop.commands))

    def read(self, keys: str) -> str | None:
        self.keys.send_text(keys)
        return self.reader.read()


@pytest.fixture
def keyboard(tmp_path: Path) -> Iterator[Keyboard]:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield Keyboard(keys, tmp_path)


UP, LEFT, CTRL_A, CTRL_C, CTRL_D, CTRL_R = "\x1b[A", "\x1b[D", "\x01", "\x03", "\x04", "\x12"


def test_lines_are_edited(keyboard: Keyboard) -> None:
    assert keyboard.read("  what is te\x7fea?\r") == "what is tea?"
    assert keyboard.read(f"tea?{CTRL_A}what is \r") == "what is tea?"
    assert keyboard.read(f"te?{LEFT}a\r") == "tea?"
    assert keyboard.read("one\x1b\rtwo\r") == "one\ntwo"
    assert keyboard.read("\x1b[200~pasted\nlines\x1b[201~\r") == "pasted\nlines"


def test_ctrl_c_gives_the_line_up_and_ctrl_d_ends(keyboard: Keyboard) -> None:
    with pytest.raises(KeyboardInterrupt):
        keyboard.read(f"half{CTRL_C}")
    assert keyboard.reader.typed == "half"
    with pytest.raises(KeyboardInterrupt):
        keyboard.read(CTRL_C)
    assert keyboard.reader.typed == ""
    assert keyboard.read(CTRL_D) is None


def test_what_was_typed_is_found_again_and_nobody_else_reads_it(keyboard: Keyboard) -> None:
    keyboard.read("first\x1b\rsecond\r")
    keyboard.read("third\r")
    if sys.platform != "win32":
        assert keyboard.path.stat().st_mode & 0o777 == 0o600
    keyboard.reader = keyboard.make_reader()
    assert keyboard.read(f"{UP}\r") == "third"
    assert keyboard.read(f"{CTRL_R}sec\r\r") == "first\nsecond"


def test_a_history_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "chat_history", tmp_path):
        history = QuestionHistory(path)
        history.store_string("tea?")
        assert history.load_history_strings() == []


def complete(chat: Chat, text: str) -> list[str]:
    completer = make_completer(lambda: chat.loop.commands)
    return [each.text for each in completer.get_completions(Document(text), None)]  # type: ignore[arg-type]


def test_commands_and_what_stands_behind_them_are_completed(tmp_path: Path) -> None:
    chat = Chat(tmp_path)
    chat.type("tea?")
    assert complete(chat, "/s") == ["/sources", "/save"]
    assert complete(chat, "/passage ") == ["/passage 7", "/passage 8"]
    assert complete(chat, "/open t") == ["/open talk"]
    for text in ("what", "/nosuch x", "/why x", "a /s"):
        assert complete(chat, text) == []


def test_a_pipe_has_no_prompt_and_bad_bytes_are_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b" moon \xff\n\nlast"), "utf-8"))
    reader = make_reader(tmp_path / "history", dict, plain=False)  # type: ignore[arg-type]
    assert isinstance(reader, PlainReader)
    assert [reader.read() for _ in range(4)] == ["moon \ufffd", "", "last", None]
    assert capsys.readouterr().out == ""
    assert reader.leaves_at_interrupt


def test_the_history_survives_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "chat_history"
    path.write_bytes(b"\n# 1\n+old\xff\n")
    path.chmod(0o644)
    history = QuestionHistory(path)
    history.store_string("half a pair \ud800")
    assert history.load_history_strings() == ["half a pair ?", "old\ufffd"]
    assert sys.platform == "win32" or path.stat().st_mode & 0o777 == 0o600
