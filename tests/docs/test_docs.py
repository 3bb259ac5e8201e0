"""The docs are what the code does: the reference explains everything, README's commands run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import run_convrag
from markdown_blocks import blocks
from places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


COMMANDS = [
    line
    for block in blocks("bash", README)
    for line in block.splitlines()
    if line.startswith("python -m convrag")
]


def test_every_hook_and_option_has_a_word_of_explanation() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    from build_reference import reference

    page = reference()
    empty = [line for line in page.splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert not empty, "an `Args:` line is missing"


def test_the_readme_begins_with_two_commands() -> None:
    first = blocks("bash", README)[0].splitlines()
    assert first == [
        "pip install -e . && python -m convrag",
        'pip install -c constraints.txt -e ".[all,test]" && pytest',
    ]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_readme_commands_run(command: str, tmp_path: Path) -> None:
    done = run_convrag(
        [*command.removeprefix("python -m convrag").split(), "tracker=none"], tmp_path
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_python_example_runs(tmp_path: Path) -> None:
    (example,) = blocks("python", README)
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_plugin_guide_quotes_the_example() -> None:
    files = (
        path
        for path in (ROOT / "docs/examples/acme").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    )
    example = "".join(path.read_text("utf-8") for path in files)
    guide = (ROOT / "docs/plugins.md").read_text(encoding="utf-8")
    quoted = [block for language in ("python", "toml", "yaml") for block in blocks(language, guide)]
    quoted = [
        block for block in quoted if "yaml-language-server" not in block
    ]  # test_kit_schema.py runs that
    assert len(quoted) == 6
    for block in quoted:
        assert block in example


SYSTEMS = (ROOT / "docs/systems.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "table", re.findall(r"^\| `(\w+=\w+)` \| default .*?\n\n", SYSTEMS, re.MULTILINE | re.DOTALL)
)
def test_the_systems_have_the_defaults_that_their_page_says(table: str) -> None:
    from convrag.registry import plugins
    from convrag.registry.option_text import describe_option

    group, name = table.split("=")
    text = re.search(rf"^\| `{table}` \|.*?\n\n", SYSTEMS, re.MULTILINE | re.DOTALL)
    assert text
    said: dict[str, str] = {}
    for row in text[0].strip().splitlines()[2:]:
        names, defaults = (cell.strip() for cell in row.split("|")[1:3])
        several = re.findall(r"`(\w+)`", names)
        values = defaults.split(", ") if len(several) > 1 else [defaults]
        said |= dict(zip(several, values, strict=True))
    parameters = describe_option(plugins.load().registry.get(group, name)).parameters
    plain = [
        each for each in parameters if not each.type.endswith(" stage") and each.name != "prompt"
    ]
    assert said == {each.name: each.default for each in plain}


SECTIONS = re.findall(
    r"^## [^\n]*\(`\+system=(\w+)`\)\n(.*?)(?=^## |\Z)", SYSTEMS, re.MULTILINE | re.DOTALL
)
TABLES = [
    (system, *found)
    for system, section in SECTIONS
    for found in re.findall(
        r"^\| `(\w+)=(\w+)` \| as published \|.*?\n(.*?)\n\n", section, re.MULTILINE | re.DOTALL
    )
]


@pytest.mark.parametrize(("system", "group", "name", "table"), TABLES)
def test_the_systems_have_the_values_that_their_page_says(
    system: str, group: str, name: str, table: str
) -> None:
    """The column "as published" is what +system=... composes, "our default" what the option has;
    and no row lacks.
    """
    from convrag.config.compose import compose
    from convrag.registry import plugins
    from convrag.registry.option_text import describe_option

    columns: list[dict[str, str]] = [{}, {}]
    for row in table.splitlines()[1:]:
        names, *values = (cell.strip() for cell in row.split("|")[1:4])
        several = re.findall(r"`(\w+)`", names)
        for said, cell in zip(columns, values, strict=True):
            said |= dict(
                zip(several, cell.split(", ") if len(several) > 1 else [cell], strict=True)
            )
    parameters = describe_option(plugins.load().registry.get(group, name)).parameters
    plain = [
        each for each in parameters if not each.type.endswith(" stage") and each.name != "prompt"
    ]
    assert columns[1] == {each.name: each.default for each in plain}
    published = compose(f"+system={system}")[group]
    assert published._option_ == name
    assert columns[0] == {each.name: str(published[each.name]) for each in plain}


@pytest.mark.parametrize(
    ("system", "section"), [each for each in SECTIONS if "| stage | as published |" in each[1]]
)
def test_the_systems_choose_the_stages_that_their_page_says(system: str, section: str) -> None:
    import yaml

    rows = re.search(
        r"^\| stage \| as published \|.*?\n\|[^\n]*\n(.*?)\n\n", section, re.MULTILINE | re.DOTALL
    )
    assert rows
    said = {
        row.split("|")[1].strip(" `"): row.split("|")[2].strip(" `") for row in rows[1].splitlines()
    }
    preset = yaml.safe_load((ROOT / f"conf/system/{system}.yaml").read_text("utf-8"))
    chosen = {
        key.removeprefix("override /"): value
        for each in preset.pop("defaults")
        for key, value in each.items()
    }
    assert said == chosen | {key: str(value) for key, value in preset.items()}


def test_each_preset_of_the_systems_page_is_there() -> None:
    from convrag.config.compose import variants

    for group, name in re.findall(r"\+(system|seed)=(\w+)", SYSTEMS):
        assert name in variants(group)
    assert set(re.findall(r"\+system=(\w+)`\)", SYSTEMS)) == set(variants("system"))
