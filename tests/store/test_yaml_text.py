"""YAML within bounds: 500 bytes with aliases are refused wherever YAML is read, in no time."""

import re
import time
from pathlib import Path

import pytest
import yaml

from convrag.api.errors import ConfigError, DataError
from convrag.config.compose import compose
from convrag.config.variants import _read
from convrag.config.yaml_files import read_yaml
from convrag.run.manifest import read_hydra_config
from convrag.store.yaml_text import YamlOutOfBounds, check_yaml, parse_config, parse_yaml
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader
from convrag_judging.rubric import read_rubric
from places import ROOT

NINE = ", ".join(["x"] * 9)
LINES = [f"a0: &a0 [{NINE}]"]
LINES += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
BOMB = "\n".join(LINES) + "\n"
"""It stands for 9 ** 10 values."""

MERGES = ["a0: &a0 {x: 1}"]
MERGES += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 10)]

LONG = f"a: &a {'x' * 10_000}\nb: [{', '.join(['*a'] * 2_000)}]\n"


def read_preset(path: Path) -> None:
    compose("+seed=bomb", f"hydra.searchpath=[file://{path.parents[1]}]")


def read_named_in_preset(path: Path) -> None:
    """The file is not named by the command, but by a preset that the command names."""
    folder = path.parents[1]
    (folder / "rewriter").mkdir()
    path.rename(folder / "rewriter" / "bomb.yaml")
    path.write_text("# @package _global_\ndefaults:\n  - override /rewriter: bomb\n")
    compose("+seed=bomb", f"hydra.searchpath=[file://{folder}]")


def read_run_config(path: Path) -> None:
    folder = path.parent / ".hydra"
    folder.mkdir()
    path.rename(folder / "config.yaml")
    read_hydra_config(path.parent)


@pytest.mark.parametrize(
    ("read", "named"),
    [
        (read_yaml, "seed/bomb.yaml"),
        (read_preset, "seed/bomb.yaml"),
        (read_named_in_preset, "rewriter/bomb.yaml"),
        (read_run_config, "seed/.hydra/config.yaml"),
        (read_rubric, "seed/bomb.yaml"),
    ],
)
def test_each_reader_names_the_file(read, named: str, tmp_path: Path) -> None:
    path = tmp_path / "seed" / "bomb.yaml"
    path.parent.mkdir()
    path.write_text(BOMB)
    assert len(BOMB) < 600
    start = time.process_time()
    with pytest.raises((ConfigError, DataError), match="more than 100,000 values") as caught:
        read(path)
    assert str(tmp_path / named) in str(caught.value)
    assert time.process_time() - start < 20


def test_a_variant_that_is_listed(tmp_path: Path) -> None:
    """--help lists it; who chooses it is told."""
    path = tmp_path / "bomb.yaml"
    path.write_text(BOMB)
    assert _read(path) == ("", {})


def test_front_matter() -> None:
    reader = find_reader(FoundFile("a.md", "a.md"))
    (document,) = reader.read(f"---\n{BOMB}title: Boats\n---\n\nNoon.\n".encode())
    assert (document.title, document.text) == ("Boats", "\nNoon.\n")


@pytest.mark.parametrize("text", [BOMB, "\n".join(MERGES), LONG], ids=["lists", "merges", "long"])
def test_what_aliases_repeat_is_counted(text: str) -> None:
    with pytest.raises(YamlOutOfBounds, match="its aliases"):
        check_yaml(text)


def test_a_value_within_itself() -> None:
    with pytest.raises(YamlOutOfBounds, match=r"\*a stands within its own value"):
        parse_config("a: &a\n  b: *a\n")


def test_deep_nesting() -> None:
    with pytest.raises(YamlOutOfBounds, match="nested too deeply"):
        check_yaml("a: &a 1\nb: *a\nc: " + "[" * 200 + "]" * 200)


def test_more_values_than_aliases() -> None:
    with pytest.raises(YamlOutOfBounds):
        check_yaml("- a\n" * 100_001)


def test_aliases_within_bounds() -> None:
    text = "a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n"
    assert parse_config(text) == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}


def test_values_stay_texts() -> None:
    text = "a: 1.10\nb: 2026-03-01\nc: yes\nd:\ne: ~\nf: null\ng: 'null'\nh: none\n"
    assert parse_yaml(text) == {
        "a": "1.10",
        "b": "2026-03-01",
        "c": "yes",
        "d": None,
        "e": None,
        "f": None,
        "g": "null",
        "h": "none",
    }


def test_what_is_no_yaml() -> None:
    with pytest.raises(yaml.YAMLError):
        parse_yaml("a: b: c")
    with pytest.raises(yaml.YAMLError):
        parse_config("a: &a 1\nb: *c\n")


def test_no_other_place_parses_yaml() -> None:
    files = [*ROOT.glob("convrag/**/*.py"), *ROOT.glob("plugins/**/*.py")]
    parsing = re.compile(r"yaml\.(?:safe_|full_|unsafe_)?(?:load|parse|compose)|OmegaConf\.load")
    found = {
        file.relative_to(ROOT).as_posix() for file in files if parsing.search(file.read_text())
    }
    assert found == {"convrag/store/yaml_text.py"}
