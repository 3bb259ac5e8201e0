"""A user's YAML with a mistake in it: one line that names the file, status 2, no traceback."""

import subprocess
from pathlib import Path

import pytest

from convrag.api.errors import ConfigError, PluginError
from convrag.config.command import Command
from convrag.config.compose import compose_command, read_settings
from convrag.config.messages import explained
from convrag.config.yaml_files import cite, user_folder
from convrag.registry import plugins
from convrag.turn.wiring import Wiring
from tasks import run_here

PRESET = """# @package _global_
# A preset of mine
defaults:
  - override /rewriter: last_n
  - override /generator: direct

top_k: 3
rewriter:
  n: 2
"""
FULL_HISTORY = PRESET.replace("last_n", "full_history")

REPLACED = {
    "bracket": ("top_k: 3", "top_k: [3"),
    "tab": ("  n: 2", "\tn: 2"),
    "twice": ("top_k: 3", "top_k: 3\ntop_k: 4"),
    "no colon": ("top_k: 3", "top_k 3"),
    "NUL": ("top_k: 3", "top_k: 3\0"),
    "contains itself": ("top_k: 3", "a: &a\n  b: *a\ntop_k: 3"),
    "group": ("/rewriter: last_n", "/rewritr: last_n"),
    "option": ("last_n", "lastn"),
    "list": ("  - override /rewriter: last_n", "  - [a]"),
    "two options": ("last_n", "[last_n, mmr]"),
    "inner place": ("/rewriter: last_n", "/clusterer@rewriter.clusterer: lsa"),
    "itself": ("  - override /rewriter: last_n", "  - bad"),
    "package rewriter": ("# @package _global_", "# @package rewriter"),
    "no package": ("# @package _global_\n", ""),
    "word": ("top_k: 3", "top_k: many"),
    "parameter's word": ("n: 2", "n: many"),
    "choice": ("top_k: 3", "history: x"),
    "parameter": ("n: 2", "nn: 2"),
    "setting": ("top_k", "topk"),
    "dot": ("top_k: 3", "rewriter.n: 3"),
    "unknown setting below": ("top_k: 3", "store:\n  pth: x"),
    "flat sweep": ("top_k: 3", "sweep: [1]"),
    "plugins": ("top_k: 3", "plugins: x"),
    "stage is null": ("rewriter:\n  n: 2", "rewriter: null"),
    "stage is a name": ("rewriter:\n  n: 2", "rewriter: last_n"),
    "option key": ("  n: 2", "  _option_: nosuch"),
    "metrics as list": ("top_k: 3", "metrics: [ranking]"),
    "other option's parameter": ("top_k: 3", "llm:\n  model: x"),
    "nowhere": ("top_k: 3", "top_k: ${nowhere}"),
    "variable": ("top_k: 3", "top_k: ${oc.env:NOWHERE_AT_ALL}"),
}
"""What is replaced in the preset, and by what."""

WHOLE: dict[str, str | bytes] = {
    "a list": "- a\n- b\n",
    "nothing": "",
    "defaults a mapping": "# @package _global_\ndefaults:\n  a: b\n",
    "deep lists": "[" * 3000,
    "Latin-1": PRESET.replace("mine", "m\xfcn").encode("latin-1"),
    "a PNG": b"\x89PNG\r\n\x1a\n\0\0",
    "stage's stage": FULL_HISTORY.replace("n: 2", "llm: nosuch"),
}
"""What stands in place of the whole preset."""

VARIANT = "# Three turns\ndefaults:\n  - last_n\n  - _self_\n\nn: 3\n"
IN_VARIANT = {
    "bracket": ("n: 3", "n: [3"),
    "unknown option": ("- last_n", "- lastn"),
    "unknown parameter": ("n: 3", "m: 3"),
    "nowhere": ("n: 3", "n: ${nowhere}"),
    "defaults a word": ("defaults:\n  - last_n\n  - _self_", "defaults: last_n"),
    "itself": ("- last_n", "- bad"),
    "global": ("# Three turns", "# @package _global_"),
    "package": ("# Three turns", "# @package generator"),
    "dot": ("n: 3", "rewriter.n: 3"),
}

PRIMARY = "defaults:\n  - config\n  - _self_\n\ntop_k: 3\nrewriter:\n  max_tokens: 9\n"
IN_PRIMARY = {
    "bracket": ("top_k: 3", "top_k: [3"),
    "unknown setting": ("top_k", "topk"),
    "unknown file": ("- config", "- confg"),
    "plugins a word": ("top_k: 3", "plugins: mine.py"),
    "plugins nowhere": ("top_k: 3", "plugins: [nope.py]"),
}


def replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_here([*arguments, "limit=1", "tracker=none", "hydra.run.dir=out"], folder)


@pytest.fixture
def mine(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of --config-dir."""
    monkeypatch.setattr(user_folder, "path", here / "mine")
    return here / "mine"


def wire(override: str) -> None:
    config, command = compose_command(override, "limit=1", "tracker=none")
    with explained(plugins.load().registry, [override]):
        read_settings(config)
        Wiring(config, command).get("rewriter")


def check(override: str, file: Path) -> None:
    """Choose a file as the command does: one line that names it is said."""
    with pytest.raises((ConfigError, PluginError)) as raised:
        wire(override)
    said = str(cite(raised.value, Command.of([override])))
    assert said.count(str(file)) == 1, said
    assert "\n" not in said


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("mistake", [*REPLACED, *WHOLE])
def test_a_preset(mistake: str, mine: Path) -> None:
    content = replaced(PRESET, *REPLACED[mistake]) if mistake in REPLACED else WHOLE[mistake]
    write(mine / "seed/bad.yaml", content)
    check("+seed=bad", mine / "seed/bad.yaml")


@pytest.mark.parametrize("mistake", IN_VARIANT)
def test_a_variant(mistake: str, mine: Path) -> None:
    write(mine / "rewriter/bad.yaml", replaced(VARIANT, *IN_VARIANT[mistake]))
    check("rewriter=bad", mine / "rewriter/bad.yaml")


@pytest.mark.parametrize("mistake", IN_PRIMARY)
def test_a_configuration(mistake: str, here: Path) -> None:
    write(here / "mine/bad.yaml", replaced(PRIMARY, *IN_PRIMARY[mistake]))
    done = run("--config-dir", "mine", "--config-name", "bad", folder=here)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("convrag: ")
    assert done.stderr.count("\n") == 1, "one line"
    assert done.stderr.count("nope.py" if mistake == "plugins nowhere" else "mine/bad.yaml") == 1
    assert not (here / "out").exists()


def test_one_without_a_mistake_runs(here: Path) -> None:
    write(here / "mine/seed/good.yaml", PRESET)
    assert run("--config-dir", "mine", "+seed=good", folder=here).returncode == 0
    assert "'n': 2" in (here / "out/.hydra/config.yaml").read_text()


def test_what_the_command_says_itself_is_in_no_file(here: Path) -> None:
    write(here / "mine/seed/good.yaml", PRESET)
    done = run("--config-dir", "mine", "+seed=good", "top_k=0", folder=here)
    assert done.returncode == 2
    assert done.stderr == "convrag: top_k=0: it must be at least 1\n"


def test_a_grid_names_it_too(here: Path) -> None:
    write(here / "mine/seed/bad.yaml", PRESET.replace("top_k", "topk"))
    arguments = ["--config-dir", "mine", "+seed=bad", "-m", "top_n=1,2", "hydra.sweep.dir=grid"]
    done = run(*arguments, folder=here)
    assert done.returncode == 2
    said = done.stderr
    assert "mine/seed/bad.yaml, line 7: option 'topk' does not exist" in said
    assert not (here / "grid").exists()
