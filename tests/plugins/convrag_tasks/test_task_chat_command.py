"""`python -m convrag task=chat` with lines from a pipe, and the command to go on."""

import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from commands import run_convrag
from convrag.config.compose import compose
from convrag.turn.conversations import Conversations
from convrag_tasks.chat.task import format_resume_command

CHAT = ("task=chat", "task.conversation=moon", "task.suggestions=0")


def list_answers(folder: Path, name: str = "moon") -> list[str]:
    return [
        record.answer.text
        for record in Conversations(folder / "outputs/store/conversations.db").records(name)
    ]


@pytest.mark.slow
def test_a_piped_conversation(tmp_path: Path) -> None:
    lines = "How far is the Moon?\n/quit\n"
    done = run_convrag(["task=chat", "task.conversation=moon"], tmp_path, stdin=lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Searching for: How far is the Moon?" in done.stdout
    assert "Sources:" in done.stdout
    assert ">" not in done.stdout.replace("task.conversation", "")
    assert len(list_answers(tmp_path)) == 1
    again = run_convrag(CHAT, tmp_path, stdin="/history\nWhat about its age?\n/passage 1\n/why")
    assert "Conversation moon, 1 turn so far." in again.stdout
    assert "> How far is the Moon?" in again.stdout
    assert "/1 " not in again.stdout
    assert "Rewriter" in again.stdout
    assert all(list_answers(tmp_path))
    assert len(list_answers(tmp_path)) == 2
    mistyped = run_convrag(["task=chat", "task.conversation=mon"], tmp_path, stdin="/quit")
    assert mistyped.stdout.startswith(
        "Conversations with a similar name: moon.\nConversation mon, a new one."
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="reads bytes from a pipe")
def test_input_that_is_no_text_and_a_line_of_a_megabyte_are_questions_like_others(
    tmp_path: Path,
) -> None:
    """`printf 'moon \\xff\\n' | convrag task=chat` ended in a traceback; the end of the input is amid a line."""
    done = subprocess.run(
        [sys.executable, "-m", "convrag", *CHAT, "llm=extractive", "generator=direct"],
        input=b"moon \xff\n"
        + b"moon dust " * 100_000
        + b"\n\n  \n/\n/nosuch "
        + b"y" * 70_000
        + b"\nwhat of",
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out = done.stdout.decode()
    assert "Searching for: moon \ufffd" in out
    assert re.search(
        r"(moon dust ?)+(moon|dust)? \.\.\. \(\d{1,3},\d{3}(,\d{3})? characters\)", out
    )
    assert "Searching for: what of" in out
    assert len(list_answers(tmp_path)) == 3
    assert len(out) < 20_000


@pytest.mark.slow
def test_a_damaged_conversation_ends_a_piped_chat_with_status_2(tmp_path: Path) -> None:
    """A script would take 0 for an answer; a person at a terminal goes on with another one."""
    assert run_convrag(CHAT, tmp_path, stdin="How far is the Moon?").returncode == 0
    with (
        closing(sqlite3.connect(tmp_path / "outputs/store/conversations.db")) as database,
        database,
    ):
        database.execute("UPDATE convrag_turns SET record = replace(record, 'far', 'fat')")
    for arguments, lines in [
        (CHAT, "And its age?"),
        (("task=chat", "task.suggestions=0"), "/open moon\nAnd its age?"),
    ]:
        done = run_convrag(arguments, tmp_path, stdin=lines)
        assert done.returncode == 2, done.stdout + done.stderr
        assert (
            "turn 1 of conversation 'moon' is damaged (its checksum is another one)" in done.stderr
        )
        assert "Traceback" not in done.stderr


# The command to go on
# --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pastes into a POSIX shell")
def test_the_command_to_go_on_works_as_it_is_pasted(tmp_path: Path) -> None:
    """It named the conversation alone, not the data set and the rewriter that it had been begun
    with.
    """
    (tmp_path / "it's mine.jsonl").write_text('{"_id": "a", "text": "Tea is a drink."}\n')
    typed = [
        "task=chat",
        "dataset=jsonl",
        "dataset.corpus='it\\'s mine.jsonl'",
        "rewriter=last_n",
        "task.suggestions=0",
    ]
    command = [sys.executable, "-m", "convrag", *typed]
    options = {
        "cwd": tmp_path,
        "capture_output": True,
        "text": True,
        "timeout": 120,
        "check": False,
    }
    begun = subprocess.run([*command, "task.conversation='a \"b'"], input="tea?\n", **options)
    assert begun.returncode == 0, begun.stderr
    *_, said, pasted = begun.stdout.splitlines()
    assert said == "To go on:"
    assert shlex.split(pasted)[1:4] == command[1:4]
    again = subprocess.run(
        ["/bin/sh", "-c", pasted.replace("python", sys.executable, 1)],
        input="/history\n",
        **options,
    )
    assert again.returncode == 0, again.stderr
    assert 'Conversation a "b, 1 turn so far.' in again.stdout
    assert again.stdout.splitlines()[-1] == pasted


@pytest.mark.parametrize(
    "name",
    [
        *(
            "moon",
            "20261122-073352-4e05",
            "a b",
            "it's",
            "a\\",
            "a\\'b",
            "x${y}",
            "true",
            "12",
            "1e5",
            "é",
            "a,b",
        ),
        *("[x]",),
        *("=", "#a", "{a: b}", "${oc.env:HOME}", '"', " a ", "\\\\", "x" * 400, "a:b", "\\${z}"),
    ],
)
def test_any_name_of_a_conversation_is_read_again(name: str) -> None:
    *_, override = shlex.split(format_resume_command([], name))
    assert compose("task=chat", override).task.conversation == name
