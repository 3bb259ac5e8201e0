"""`python -m convrag task=chat` with lines from a pipe, and the command to go on."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from commands import run_convrag
from convrag.config.compose import compose
from convrag.turn.conversations import Conversations
from convrag_tasks.chat.task import format_resume_command
from llm_server import DONE, Server, Step, make_event

CHAT = ("task=chat", "task.conversation=moon", "task.suggestions=0")


def list_answers(folder: Path, name: str = "moon") -> list[str]:
    return [record.answer.text for record in Conversations(folder / "outputs/store/conversations.db").records(name)]


def test_a_piped_conversation(tmp_path: Path) -> None:
    lines = "How far is the Moon?\n/quit\n"
    done = run_convrag(["task=chat", "task.conversation=moon"], tmp_path, stdin=lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Searching for: How far is the Moon?" in done.stdout
    assert "Sources:" in done.stdout
    assert "/1 What about " in done.stdout
    assert ">" not in done.stdout.replace("task.conversation", "")
    assert len(list_answers(tmp_path)) == 1
    again = run_convrag(CHAT, tmp_path, stdin="/history\nWhat about its age?\n/passage 1\n/why")
    assert "Conversation moon, 1 turn so far." in again.stdout
    assert "> How far is the Moon?" in again.stdout
    assert "/1 " not in again.stdout
    assert "Rewriter" in again.stdout
    assert all(list_answers(tmp_path))
    assert len(list_answers(tmp_path)) == 2


@pytest.mark.integration
def test_faults_of_a_streamed_answer_leave_the_prompt_and_the_conversation(tmp_path: Path) -> None:
    pytest.importorskip("litellm")
    server = Server()
    whole = (make_event({"content": "A dog"}), make_event({"content": " [1]."}), make_event({}, "stop"), DONE)
    broken = (make_event({"content": "A "}), b'data: {"error": {"message": "overloaded"}}\n\n')
    cut = (make_event({"content": "A dog that"}), make_event({}, "length"), DONE)
    server.plan_replies(*(Step(events=events) for events in (whole, broken, broken, cut)))
    model = ["llm=openai_compatible", "llm.model=openai/x", f"llm.api_base={server.address}"]
    lines = "How far is the Moon?\n/query tea\nAnd Mars?\nAnd Venus?\n/history\n"
    try:
        done = run_convrag([*CHAT, *model, "rewriter=none", "generator=direct"], tmp_path, stdin=lines)
    finally:
        server.close()
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("overloaded. A part of it was shown already") == 2
    assert done.stdout.count("What is shown above is not kept in the conversation.") == 2
    assert "1 reply was cut at max_tokens (generator 1)" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert list_answers(tmp_path) == ["A dog [1].", "", "A dog that"]


@pytest.mark.skipif(sys.platform == "win32", reason="reads bytes from a pipe")
def test_input_that_is_no_text_and_a_line_of_a_megabyte_are_questions_like_others(tmp_path: Path) -> None:
    """`printf 'moon \\xff\\n' | convrag task=chat` ended in a traceback; the end of the input is amid a line."""
    done = subprocess.run(
        [sys.executable, "-m", "convrag", *CHAT, "llm=extractive", "generator=direct"],
        input=b"moon \xff\n" + b"moon dust " * 100_000 + b"\n\n  \n/\n/nosuch " + b"y" * 70_000 + b"\nwhat of",
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out = done.stdout.decode()
    assert "Searching for: moon \ufffd" in out
    assert re.search(r"(moon dust ?)+(moon|dust)? \.\.\. \(\d{1,3},\d{3}(,\d{3})? characters\)", out)
    assert "Searching for: what of" in out
    assert len(list_answers(tmp_path)) == 3
    assert len(out) < 20_000


def test_a_name_of_400_characters_is_a_conversation_like_others(tmp_path: Path) -> None:
    name = "x" * 400
    chat = ["task=chat", f"task.conversation={name}", "task.suggestions=0"]
    done = run_convrag(chat, tmp_path, stdin="How far is the Moon?\n/save\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Saved: " in done.stdout
    again = run_convrag(chat, tmp_path, stdin="/history\n")
    assert f"Conversation {name}, 1 turn so far." in again.stdout


# The command to go on --------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="pastes into a POSIX shell")
def test_the_command_to_go_on_works_as_it_is_pasted(tmp_path: Path) -> None:
    """It named the conversation alone, not the data set and the rewriter that it had been begun with."""
    (tmp_path / "it's mine.jsonl").write_text('{"_id": "a", "text": "Tea is a drink."}\n')
    typed = [
        "task=chat",
        "dataset=jsonl",
        "dataset.corpus='it\\'s mine.jsonl'",
        "rewriter=last_n",
        "task.suggestions=0",
    ]
    command = [sys.executable, "-m", "convrag", *typed]
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120, "check": False}
    begun = subprocess.run([*command, "task.conversation='a \"b'"], input="tea?\n", **options)
    assert begun.returncode == 0, begun.stderr
    *_, said, pasted = begun.stdout.splitlines()
    assert said == "To go on:"
    assert shlex.split(pasted)[:4] == command[:4]
    again = subprocess.run(["/bin/sh", "-c", pasted], input="/history\n", **options)
    assert again.returncode == 0, again.stderr
    assert 'Conversation a "b, 1 turn so far.' in again.stdout
    assert again.stdout.splitlines()[-1] == pasted


def test_no_secret_stands_in_the_command_to_go_on(tmp_path: Path) -> None:
    key = "sk-proj-0123456789abcdefghij"
    done = run_convrag([*CHAT, f"llm.api_key={key}", "llm=litellm"], tmp_path, stdin="tea?\n")
    assert done.returncode == 2
    assert key not in done.stdout + done.stderr


def test_the_command_to_go_on_is_the_one_that_was_typed() -> None:
    module = ["python3", "-X", "dev", "-m", "convrag", "task=chat", "+task.conversation=old", "--config-dir", "my conf"]
    assert format_resume_command(module, [], "new") == (
        "python3 -X dev -m convrag task=chat --config-dir 'my conf' task.conversation=new"
    )
    script = ["/usr/bin/python3", "/no/such/bin/convrag", "task=chat"]
    assert format_resume_command(script, [], "new") == "/no/such/bin/convrag task=chat task.conversation=new"
    other = ["python", "program.py", "-m", "convrag"]
    assert format_resume_command(other, ["task=chat"], "n") == "python -m convrag task=chat task.conversation=n"


@pytest.mark.parametrize(
    "name",
    [
        *("moon", "20261122-073352-4e05", "a b", "it's", "a\\", "a\\'b", "a\\b", "x${y}", "true", "null", "12", "1e5"),
        *(
            "é",
            "a,b",
            "[x]",
            "=",
            "#a",
            "{a: b}",
            "${oc.env:HOME}",
            "'",
            '"',
            " a ",
            "\\\\",
            "x" * 400,
            "a:b",
            "\\${z}",
        ),
    ],
)
def test_any_name_of_a_conversation_is_read_again(name: str) -> None:
    *_, override = shlex.split(format_resume_command(["x"], [], name))
    assert compose("task=chat", override).task.conversation == name
