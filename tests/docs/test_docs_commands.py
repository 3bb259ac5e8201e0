"""Every command and every program of the docs is run by a test, or its block says why not; every
option in them exists.

A block that no test runs has a comment above it, which readers do not see: <!-- not run: it needs a
key -->
"""

import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep

from commands import run_convrag
from convrag.api.groups import GROUPS, options_group
from convrag.cli.arguments import read_arguments
from convrag.config.choices import quote_value
from convrag.config.compose import compose, variants
from convrag.config.settings import PRESETS
from convrag.registry import plugins
from places import ROOT

PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
)
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.M)
PROGRAMS = "convrag|python3?|pip|pytest|curl|docker|mlflow|vllm|createdb|printf|ruff|mypy|export"
COMMAND = re.compile(rf"^(?:\$ )?(?:\w+=\S+ )*(?:{PROGRAMS}) ", re.M)
CONVRAG = re.compile(r"^(?:\w+=\S+ |.*\| )*(?:python -m )?convrag (?P<arguments>.*)$")

OTHER_TESTS = {
    "README.md": "test_docs.py",
    "docs/plugins.md": "test_docs.py",
    "docs/python.md": "test_python_page.py",
    "docs/systems.md": "plugins/test_dedup_pipeline.py",
    "docs/tutorial.md": "test_tutorial.py",
}
"""Page -> the test that runs its blocks of Python, and of README and the tutorial the commands too.
"""

NEW_OPTIONS = ("docs/examples/", "docs/tutorial.md")
"""Pages whose options are not installed here; test_gallery.py and test_tutorial.py do that."""

PLACEHOLDERS = {"M"}
"""Stand for more overrides, as dots do. docs/benchmarks.md says what M is."""


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    language: str
    text: str
    why_not: str | None

    def lines(self) -> list[str]:
        """Its commands, each on one line."""
        return self.text.replace("\\\n", " ").splitlines()


def read_blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(page, found["language"], found["text"], found["why"])
        for found in BLOCK.finditer(text)
    ]


BLOCKS = [block for page in PAGES for block in read_blocks(page)]


def test_every_fence_is_read() -> None:
    for page in PAGES:
        fences = re.findall(r"^```", (ROOT / page).read_text(encoding="utf-8"), re.M)
        assert len(fences) == 2 * len(read_blocks(page)), page


@pytest.mark.parametrize("page", PAGES)
def test_a_command_stands_in_a_block_of_commands(page: str) -> None:
    """Where it can be copied, and is found by the tests here."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in read_blocks(page):
        if block.language == "text" and not block.why_not:
            assert not COMMAND.match(block.text), block.text
    for found in INDENTED.finditer(BLOCK.sub("", text)):
        assert not COMMAND.match(found[0].lstrip()), found[0]


def arguments_of(line: str) -> list[str] | None:
    """The overrides of a command, of a grid those of its first cell; None where it is no command of
    convrag's.
    """
    found = CONVRAG.match(line)
    if not found:
        return None
    typed = shlex.split(found["arguments"].partition(" > ")[0], comments=True)
    command = read_arguments(typed)
    if command.help or command.shell_completion:
        return []
    arguments = [
        each for each in command.overrides if each not in PLACEHOLDERS and "..." not in each
    ]
    if not command.multirun:
        return [*(each for each in command.flags if each not in PLACEHOLDERS), *arguments]
    kept = [quote_value(each) for each in arguments if not each.startswith(("hydra", "+sweep"))]
    first = []
    quoted = [quote_value(text) for text in kept]
    for text, override in zip(kept, OverridesParser.create().parse_overrides(quoted), strict=True):
        if override.is_sweep_override():
            assert override.input_line is not None
            value = override.value()
            first.append(
                f"{override.get_key_element()}={value.list[0]}"
                if isinstance(value, ChoiceSweep)
                else f"{override.get_key_element()}={value.start}"  # type: ignore[union-attr]
            )
        else:
            first.append(text)
    return first


def commands_of(page: str) -> list[list[str]]:
    """The overrides of each command of convrag's on a page."""
    lines = [
        line for block in read_blocks(page) if block.language == "bash" for line in block.lines()
    ]
    found = [arguments_of(line) for line in lines]
    return [
        each
        for each in found
        if each and not any(argument.startswith("plugins=") for argument in each)
    ]


KNOWN = [page for page in PAGES if not page.startswith(NEW_OPTIONS)]


def unknown_choices(arguments: list[str]) -> list[str]:
    """List the overrides that choose an option, variant or preset that does not exist."""
    registry = plugins.load().registry
    unknown = []
    for argument in arguments:
        place, _, name = argument.lstrip("+").partition("=")
        group = options_group(place) if place in GROUPS else place
        if (group in GROUPS or group in PRESETS) and re.fullmatch(r"\w+", name):
            known = {*variants(group), *(registry.options(group) if group in GROUPS else ())}
            unknown += [] if name in known else [argument]
    return unknown


def test_the_options_that_commands_choose_are_there() -> None:
    assert unknown_choices(["rewriter=nonesuch", "+seed=nonesuch", "top_k=3"]) == [
        "rewriter=nonesuch",
        "+seed=nonesuch",
    ]
    found = [(page, unknown_choices(each)) for page in KNOWN for each in commands_of(page)]
    assert len(found) > 100
    assert [each for each in found if each[1]] == []


@pytest.mark.slow  # a fifth of a second for each command
@pytest.mark.parametrize("page", KNOWN)
def test_the_parameters_that_commands_set_are_there(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("CONVRAG_STORE", "PGPASSWORD", "MLFLOW_DATABASE", "GATEWAY_KEY"):
        monkeypatch.setenv(variable, "value")
    for arguments in commands_of(page):
        compose(*arguments)


def is_elsewhere(block: Block) -> bool:
    return block.page in OTHER_TESTS and (
        block.language != "bash" or block.page in {"README.md", "docs/tutorial.md"}
    )


RUN = [block for block in BLOCKS if not (block.why_not or is_elsewhere(block))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", sorted({block.page for block in RUN if block.language == "python"})
)
def test_the_programs_run(page: str) -> None:
    names: dict[str, object] = {"__name__": page}
    for block in RUN:
        if block.page == page and block.language == "python":
            exec(compile(block.text, page, "exec"), names)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a smaller `docs`, which is also the handbook of the home folder."""
    for name in ("docs", "handbook"):
        (tmp_path / name).mkdir()
        for page in ("architecture", "documents", "llms", "plugins", "start"):
            shutil.copy(ROOT / f"docs/{page}.md", tmp_path / name)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({block.page for block in RUN if block.language == "bash"}))
def test_the_commands_run(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, over fewer conversations."""
    monkeypatch.setenv("HOME", str(folder))
    for block in RUN:
        for line in block.lines() if (block.page, block.language) == (page, "bash") else []:
            found = CONVRAG.match(line)
            assert found or line == "python -m convrag", f"{page}: {line}: say why it is not run"
            arguments = (
                shlex.split(found["arguments"].partition(" > ")[0], comments=True) if found else []
            )
            asked = "How are documents cut?\n" if "task=chat" in arguments else ""
            few = "task.conversations=2" if "task=questions" in arguments else "limit=2"
            quiet = (
                [] if any(each.startswith("tracker.") for each in arguments) else ["tracker=none"]
            )
            done = run_convrag([*arguments, few, *quiet], folder, stdin=asked)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
            assert done.stdout, line
