"""What the pages show as output is what comes out.

A block of output has the command above it in a comment, which readers do not see. Lines that begin
with ">" are typed, and "..." stands for lines that are left out.
"""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from commands import run_convrag
from places import ROOT

SHOWN = re.compile(
    r"^<!-- printed by: (?P<command>[^\n]+) -->\n```text\n(?P<text>.*?)^```$", re.M | re.S
)


class Example(NamedTuple):
    """A block of output on a page, and the command that prints it."""

    page: str
    command: str
    text: str


def find_examples() -> list[Example]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [
        Example(str(page.relative_to(ROOT)), found["command"], found["text"])
        for page in pages
        for found in SHOWN.finditer(page.read_text(encoding="utf-8"))
    ]


def split_typed(text: str) -> tuple[str, list[str]]:
    """The lines that are typed, and the passages of output between gaps, each on one line."""
    typed = []
    passages = [""]
    for line in text.splitlines():
        if line.startswith(">"):
            typed.append(line.removeprefix(">").strip())
        elif line.strip().endswith("..."):
            passages[-1] += " " + line.strip().removesuffix("...")
            passages.append("")
        else:
            passages[-1] += " " + line
    return "\n".join(typed) + "\n", [flatten(each) for each in passages if each.strip()]


def flatten(text: str) -> str:
    """A text on one line, however wide the terminal was."""
    return " ".join(text.split())


EXAMPLES = find_examples()


def test_readme_and_the_page_of_the_chat_show_examples() -> None:
    assert {"README.md", "docs/chat.md"} <= {example.page for example in EXAMPLES}


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.page)
def test_what_is_shown_comes_out(example: Example, tmp_path: Path) -> None:
    typed, passages = split_typed(example.text)
    arguments = shlex.split(example.command.removeprefix("python -m convrag "))
    arguments = [each.replace("=docs", f"={ROOT / 'docs'}") for each in arguments]
    done = run_convrag(arguments, tmp_path, stdin=typed)
    assert done.returncode == 0, done.stderr
    printed = flatten(done.stdout)
    place = 0
    for passage in passages:
        found = printed.find(passage, place)
        assert found >= 0, f"{passage!r} is not in {printed[place:]!r}"
        place = found + len(passage)
