"""Text of others that a terminal would obey, in every field of a data set, in replies, names, paths
and plugins.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import LIBRARIES, StartedCommand, run_convrag
from llm_server import Server, make_reply
from tasks import run_task
from third_party import Environment

HOSTILE = (
    "\x1b[5;41;93mblink\x1b]52;c;aGFja2Vk\x07 \x1b]8;;http://evil\x1b\\link\x9b2J\x9d0;title\x9c \u202eevil\u2066\u202c"
    " over\rwrite \x08\x00\x7f [red]markup[/red] [link=http://evil]x[/link] :skull: <script>alert(1)</script> | `tick"
)
"""Escapes of 7 and 8 bits (blinking, clipboard, link, title), a bell, bidirectional controls,
Rich's markup.
"""

STYLES = re.compile(
    r"\x1b\[(?!5;)[0-9;]*m|\x1b\[\?(?:1|7|12|25|2004)[hl]|\x1b\[[12][KA]|\x1b\[(?:J|K)|\x1b\[\d+[CD]|\r|\x08"
)
"""What Rich and the prompt themselves write to a terminal: styles, the cursor, the progress bar's
lines.
"""

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def check(text: str, *, on_terminal: bool = False) -> None:
    rest = STYLES.sub("", text) if on_terminal else text
    found = FORBIDDEN.search(rest)
    assert found is None, repr(rest[max(0, found.start() - 60) : found.end() + 60])


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    turn = {"question": HOSTILE, "answer": HOSTILE, HOSTILE: HOSTILE, "kind": HOSTILE}
    passage = {"title": HOSTILE, "text": HOSTILE, "url": HOSTILE, HOSTILE: HOSTILE}
    files = {
        "talks.jsonl": {
            "id": HOSTILE,
            "turns": [{**turn, "id": f"{HOSTILE}<::>1"}, {**turn, "id": f"{HOSTILE}<::>2"}],
        },
        "corpus.jsonl": {"_id": HOSTILE, **passage},
    }
    for name, row in files.items():
        (tmp_path / name).write_text(json.dumps(row) + "\n")
    return [
        "dataset=jsonl",
        f"dataset.conversations={tmp_path / 'talks.jsonl'}",
        f"dataset.corpus={tmp_path / 'corpus.jsonl'}",
        "embedder=lsa",
        "generator=direct",
    ]


@pytest.fixture
def llm() -> Iterator[list[str]]:
    pytest.importorskip("litellm")
    server = Server()
    server.plan_replies({**make_reply(f"It is {HOSTILE} [1]"), "model": HOSTILE})
    yield ["llm=openai_compatible", "llm.model=openai/x", f"llm.api_base={server.address}"]
    server.close()


def run_on_terminal(arguments: list[str], folder: Path, typed: str = "") -> str:
    """Run the command on a pseudo-terminal; return all that it shows."""
    import pty

    ours, theirs = pty.openpty()
    variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = StartedCommand(
        arguments,
        folder,
        environment=variables,
        libraries=LIBRARIES,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    if typed:
        os.write(ours, typed.encode())
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:
        pass  # the other end is closed
    process.wait(60)
    os.close(ours)
    return shown.decode("utf-8", "surrogateescape")


@pytest.mark.integration
def test_a_run_shows_no_control_characters(data: list[str], llm: list[str], tmp_path: Path) -> None:
    command = [*data, *llm, "task.show=trace", "tracker=none", "hydra.run.dir=out"]
    done = run_task(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\u241b[5;41;93mblink" in done.stdout
    assert "[red]markup[/red]" in done.stdout
    check(done.stdout)
    check(done.stderr)
    check((tmp_path / "out/summary.md").read_text(encoding="utf-8"))
    assert "<script>" not in (tmp_path / "out/summary.md").read_text(encoding="utf-8")


@pytest.mark.integration
def test_a_chat_shows_none(data: list[str], llm: list[str], tmp_path: Path) -> None:
    command = [*data, *llm, "task=chat", "task.show=trace"]
    done = run_task(
        command,
        tmp_path,
        stdin=f"what? {HOSTILE}\n/history\n/query {HOSTILE}\n/save a.md\n/{HOSTILE}\n",
    )
    assert done.returncode == 0, done.stderr
    assert "It is \u241b[5;41;93mblink" in done.stdout
    check(done.stdout)
    check(done.stderr)
    check((tmp_path / "a.md").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_nor_does_it_on_a_terminal_where_it_streams(
    data: list[str], llm: list[str], tmp_path: Path
) -> None:
    shown = run_on_terminal(
        [*data, *llm, "task=chat", "task.suggestions=2"], tmp_path, "what?\n/history\n/quit\n"
    )
    assert "It is \u241b[5;41;93mblink" in shown
    check(shown, on_terminal=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["rewriter=@"],
        ["rewriter.@=1"],
        ["dataset=jsonl", "dataset.conversations=@"],
        ["dataset=jsonl", "dataset.conversations=talks.jsonl", "dataset.domain=@", "limit=1"],
        ["plugins=[@]"],
        ["task=evaluate", "task.records=@"],
        ["task=chat", "task.conversation=@"],
        ["limit=@"],
    ],
)
def test_an_error_quotes_what_was_typed_without_them(
    arguments: list[str], data: list[str], tmp_path: Path
) -> None:
    typed = HOSTILE.replace("\0", "").split("\r")[0]
    quoted = "'" + typed.replace("\\", "\\\\") + "'"
    filled = [argument.replace("@", quoted) for argument in arguments]
    done = run_task([*filled, "tracker=none"], tmp_path)
    check(done.stdout)
    check(done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_grid_shows_none(data: list[str], tmp_path: Path) -> None:
    talks = tmp_path / "talks.jsonl"
    hostile = tmp_path / "a\x1b[5;41;93mb [red]x[red].jsonl"
    hostile.write_text(talks.read_text().replace("blink", "shine"))
    names = ",".join(f"'{path}'" for path in (hostile, talks))
    wide = {**os.environ, "COLUMNS": "400"}  # no name is broken into lines
    command = ["-m", *data[:1], *data[2:4], "generator=none", f"dataset.conversations={names}"]
    done = run_convrag(command, tmp_path, environment=wide)
    assert done.returncode == 0, done.stderr
    assert "\na\u241b[5;41;93mb [red]x[red].jsonl  " in done.stdout, "without the folder of both"
    check(done.stdout)
    check(done.stderr)
    for path in (tmp_path / "outputs").rglob("*.md"):
        check(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_plugins_of_others_are_listed_without_them(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    code = f"""
from convrag import hookimpl, Rewrite, Rewriter

class Mine(Rewriter):
    def __init__(self, *, word: str = {HOSTILE!r}) -> None:
        self.word = word
    def rewrite(self, question):
        return Rewrite.of(question.text)
Mine.__doc__ = {HOSTILE!r} + "\\n\\n    Args:\\n        word: " + {HOSTILE!r}

@hookimpl
def convrag_register(register):
    register("rewriter", "hostile", Mine)
    register("rewriter", {HOSTILE!r}, Mine)
"""
    environment.install("hostile", {"hostile.py": code})
    environment.install("failing", {"failing.py": f"raise RuntimeError({HOSTILE!r})"})
    for arguments in (
        ["task=plugins"],
        ["task=plugins", "task.stage=rewriter"],
        ["--help"],
        ["task=doctor", "rewriter=hostile"],
        ["rewriter=hostile", "limit=1"],
        ["rewriter=hostle"],
    ):
        done = environment.convrag(*arguments)
        assert "blink" in done.stdout + done.stderr
        check(done.stdout)
        check(done.stderr)
