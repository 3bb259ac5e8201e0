"""`plugins:` in a preset is loaded; where it cannot be, it is refused, not ignored."""

from pathlib import Path

import pytest

from convrag import ConfigError
from convrag.config.compose import compose, find_plugin_files
from convrag.config.yaml_files import user_folder
from convrag.registry import plugins

PLUGIN = """
from convrag import Rewrite, Rewriter, hookimpl

class Mine(Rewriter):
    "Keeps the question."
    def rewrite(self, question):
        return Rewrite.of(question.text)

@hookimpl
def convrag_register(register):
    register("rewriter", "of_a_preset", Mine)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    before = plugins.load()
    plugins.forget()
    monkeypatch.setattr(user_folder, "path", tmp_path)
    (tmp_path / "seed").mkdir()
    (tmp_path / "seed/mine.py").write_text(PLUGIN)
    yield tmp_path
    plugins.forget(before)


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def test_a_preset_loads_its_plugins(folder: Path) -> None:
    """Its names are relative to it."""
    write(
        folder / "seed/mine.yaml",
        "# @package _global_\ndefaults:\n  - override /rewriter: of_a_preset\nplugins: [mine.py]\n",
    )
    assert compose("+seed=mine").rewriter._option_ == "of_a_preset"


def test_a_preset_of_a_preset_is_refused(folder: Path) -> None:
    write(folder / "seed/outer.yaml", "# @package _global_\ndefaults: [inner]\n")
    write(folder / "seed/inner.yaml", "# @package _global_\nplugins: [mine.py]\n")
    with pytest.raises(ConfigError, match=r"plugins: mine\.py is not loaded.*plugins=\[...\]"):
        compose("+seed=outer")


def test_a_preset_whose_plugins_are_no_list_is_refused(folder: Path) -> None:
    write(folder / "seed/mine.yaml", "# @package _global_\nplugins: mine.py\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml: plugins=mine\.py: this is a list"):
        compose("+seed=mine")


def test_a_key_of_its_own_group_is_no_setting(folder: Path) -> None:
    write(folder / "seed/own.yaml", "plugins: [nowhere.py]\n")
    assert find_plugin_files(["+seed=own"]) == []
