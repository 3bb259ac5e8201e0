"""A user's YAML with a mistake in it: one line that names the file, status 2, no traceback."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from commands import run_convrag

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
    "brace": ("top_k: 3", "top_k: {3"),
    "tab": ("  n: 2", "\tn: 2"),
    "indented": ("top_k: 3", " top_k: 3"),
    "indented more": ("  n: 2", "  n: 2\n   m: 3"),
    "twice": ("top_k: 3", "top_k: 3\ntop_k: 4"),
    "no colon": ("top_k: 3", "top_k 3"),
    "no blank": ("top_k: 3", "top_k:3"),
    "quote": ("top_k: 3", "top_k: '3"),
    "double quote": ("top_k: 3", 'top_k: "3'),
    "percent": ("top_k: 3", "%top_k: 3"),
    "at": ("top_k: 3", "@top_k: 3"),
    "backtick": ("top_k: 3", "`top_k: 3"),
    "documents": ("top_k: 3", "---\ntop_k: 3"),
    "tag": ("top_k: 3", "top_k: !foo 3"),
    "python tag": ("top_k: 3", "top_k: !!python/object:os.system 3"),
    "unhashable key": ("top_k: 3", "[a]: 3"),
    "null key": ("top_k: 3", "null: 3"),
    "number as key": ("top_k: 3", "3: 3"),
    "boolean as key": ("top_k: 3", "true: 3"),
    "anchor": ("top_k: 3", "top_k: *x"),
    "merged": ("top_k: 3", "<<: 3"),
    "merged anchor": ("rewriter:", "rewriter:\n  <<: *x"),
    "item below": ("n: 2", "n: 2\n  - x"),
    "NUL": ("top_k: 3", "top_k: 3\0"),
    "bell": ("top_k: 3", "top_k: \x07"),
    "contains itself": ("top_k: 3", "a: &a\n  b: *a\ntop_k: 3"),
    "contains itself in a list": ("top_k: 3", "a: &a [*a]"),
    "group": ("/rewriter: last_n", "/rewritr: last_n"),
    "no group": ("override /rewriter: last_n", "override /: last_n"),
    "two slashes": ("/rewriter: last_n", "//rewriter: last_n"),
    "no slash": ("/rewriter", "rewriter"),
    "no override": ("override /rewriter", "/rewriter"),
    "no override, no slash": ("override /rewriter", "rewriter"),
    "override misspelt": ("override /rewriter", "overide /rewriter"),
    "optional": ("override /rewriter: last_n", "optional override /rewriter: nosuch"),
    "option": ("last_n", "lastn"),
    "option of another group": ("last_n", "bm25"),
    "option with suffix": ("last_n", "last_n.yml"),
    "path": ("/rewriter: last_n", "/rewriter: ../x"),
    "list": ("  - override /rewriter: last_n", "  - [a]"),
    "number": ("  - override /rewriter: last_n", "  - 3"),
    "empty entry": ("  - override /rewriter: last_n", "  -"),
    "empty text": ("  - override /rewriter: last_n", "  - ''"),
    "number as option": ("last_n", "3"),
    "number in list": ("last_n", "[3]"),
    "two options": ("last_n", "[last_n, mmr]"),
    "mapping as option": ("last_n", "{a: b}"),
    "two keys": ("  - override /generator", "    override /generator"),
    "place": ("/rewriter: last_n", "/rewriter@foo: last_n"),
    "inner place": ("/rewriter: last_n", "/clusterer@rewriter.clusterer: lsa"),
    "inner place, no override": ("override /rewriter: last_n", "/clusterer@rewriter.clusterer: lsa"),
    "itself": ("  - override /rewriter: last_n", "  - bad"),
    "itself by its group": ("  - override /rewriter: last_n", "  - /seed: bad"),
    "interpolation in defaults": ("last_n", "${nowhere}"),
    "variable in defaults": ("last_n", "${oc.env:NOWHERE_AT_ALL}"),
    "package rewriter": ("# @package _global_", "# @package rewriter"),
    "package without name": ("# @package _global_", "# @package"),
    "package with two": ("# @package _global_", "# @package _global_ x"),
    "package misspelt": ("# @package _global_", "# @packge _global_"),
    "package's name misspelt": ("_global_", "_globl_"),
    "no package": ("# @package _global_\n", ""),
    "not the first line": ("# @package _global_\n# A preset of mine", "# A preset of mine\n# @package _global_"),
    "word": ("top_k: 3", "top_k: many"),
    "parameter's word": ("n: 2", "n: many"),
    "parameter's list": ("n: 2", "n: [1]"),
    "mapping": ("top_k: 3", "top_k: {a: 1}"),
    "null": ("top_k: 3", "top_k: null"),
    "empty": ("top_k: 3", "top_k:"),
    "negative": ("top_k: 3", "top_k: -3"),
    "NaN": ("top_k: 3", "top_k: .nan"),
    "date": ("top_k: 3", "top_k: 2020-01-01"),
    "boolean": ("top_k: 3", "top_k: true"),
    "octal": ("top_k: 3", "top_k: 0o3"),
    "float": ("top_k: 3", "top_k: 3.5"),
    "emoji": ("top_k: 3", "top_k: \N{GRINNING FACE}"),
    "choice": ("top_k: 3", "history: x"),
    "parameter": ("n: 2", "nn: 2"),
    "setting": ("top_k", "topk"),
    "dot": ("top_k: 3", "rewriter.n: 3"),
    "unknown setting below": ("top_k: 3", "store:\n  pth: x"),
    "flat store": ("top_k: 3", "store: x"),
    "flat sweep": ("top_k: 3", "sweep: [1]"),
    "flat hydra": ("top_k: 3", "hydra: 3"),
    "unknown hydra": ("top_k: 3", "hydra:\n  foo: 3"),
    "wrong hydra": ("top_k: 3", "hydra:\n  run: 3"),
    "search path": ("top_k: 3", "hydra:\n  searchpath: 3"),
    "plugins": ("top_k: 3", "plugins: x"),
    "plugins of a preset": ("top_k: 3", "plugins: [nope.py]"),
    "stage is null": ("rewriter:\n  n: 2", "rewriter: null"),
    "stage is a name": ("rewriter:\n  n: 2", "rewriter: last_n"),
    "stage is a list": ("rewriter:\n  n: 2", "rewriter: [last_n]"),
    "stage is a number": ("rewriter:\n  n: 2", "rewriter: 3"),
    "list for mapping": ("  n: 2", "  - n"),
    "option key": ("  n: 2", "  _option_: nosuch"),
    "option key is a number": ("  n: 2", "  _option_: 3"),
    "option key is null": ("  n: 2", "  _option_:"),
    "metrics as list": ("top_k: 3", "metrics: [ranking]"),
    "unknown metrics": ("top_k: 3", "metrics:\n  foo: 3"),
    "parameter of metrics": ("top_k: 3", "metrics:\n  ranking:\n    foo: 3"),
    "other stage's parameter": ("top_k: 3", "dataset:\n  foo: 3"),
    "other option's parameter": ("top_k: 3", "llm:\n  model: x"),
    "unused stage's parameter": ("top_k: 3", "clusterer:\n  foo: 3"),
    "nowhere": ("top_k: 3", "top_k: ${nowhere}"),
    "nowhere below": ("n: 2", "n: ${rewriter.nope}"),
    "refers to itself": ("top_k: 3", "top_k: ${top_k}"),
    "not closed": ("top_k: 3", "top_k: ${top_k"),
    "resolver": ("top_k: 3", "top_k: ${nope:1}"),
    "variable": ("top_k: 3", "top_k: ${oc.env:NOWHERE_AT_ALL}"),
    "variable below": ("n: 2", "n: ${oc.env:NOWHERE_AT_ALL}"),
}
"""What is replaced in the preset, and by what."""

WHOLE: dict[str, str | bytes] = {
    "a list": "- a\n- b\n",
    "a word": "hello\n",
    "a number": "3\n",
    "nothing": "",
    "a comment": "# only\n",
    "defaults a mapping": "# @package _global_\ndefaults:\n  a: b\n",
    "defaults a word": "# @package _global_\ndefaults: rewriter\n",
    "defaults nothing": "# @package _global_\ndefaults:\n",
    "defaults a number": "# @package _global_\ndefaults: 3\n",
    "deep lists": "[" * 3000,
    "deep mappings": "{a: " * 3000,
    "many keys in a line": "a: " * 300 + "1",
    "Latin-1": PRESET.replace("mine", "m\xfcn").encode("latin-1"),
    "UTF-16": PRESET.encode("utf-16"),
    "a lone surrogate": PRESET.encode() + b"\xed\xa0\x80",
    "a PNG": b"\x89PNG\r\n\x1a\n\0\0",
    "CRLF and a word": PRESET.replace("\n", "\r\n").replace("top_k: 3", "top_k: x"),
    "BOM and a word": "\ufeff" + PRESET.replace("top_k: 3", "top_k: x"),
    "stage's stage": FULL_HISTORY.replace("n: 2", "llm: nosuch"),
    "stage's stage a number": FULL_HISTORY.replace("n: 2", "llm: 3"),
    "stage's stage a mapping": FULL_HISTORY.replace("n: 2", "llm: {a: 3}"),
    "stage's stage a list": FULL_HISTORY.replace("n: 2", "llm: [a]"),
}
"""What stands in place of the whole preset."""

VARIANT = "# Three turns\ndefaults:\n  - last_n\n  - _self_\n\nn: 3\n"
IN_VARIANT = {
    "bracket": ("n: 3", "n: [3"),
    "tab": ("n: 3", "\tn: 3"),
    "unknown option": ("- last_n", "- lastn"),
    "unknown parameter": ("n: 3", "m: 3"),
    "word": ("n: 3", "n: many"),
    "nowhere": ("n: 3", "n: ${nowhere}"),
    "list": ("n: 3", "- n"),
    "defaults a word": ("defaults:\n  - last_n\n  - _self_", "defaults: last_n"),
    "defaults a mapping": ("  - last_n\n  - _self_", "  last_n: _self_"),
    "itself": ("- last_n", "- bad"),
    "global": ("# Three turns", "# @package _global_"),
    "package": ("# Three turns", "# @package generator"),
    "option key": ("n: 3", "_option_: nosuch"),
    "dot": ("n: 3", "rewriter.n: 3"),
    "NUL": ("n: 3", "n: \0"),
}

PRIMARY = "defaults:\n  - config\n  - _self_\n\ntop_k: 3\nrewriter:\n  max_tokens: 9\n"
IN_PRIMARY = {
    "bracket": ("top_k: 3", "top_k: [3"),
    "tab": ("  max_tokens", "\tmax_tokens"),
    "unknown setting": ("top_k", "topk"),
    "unknown parameter": ("max_tokens", "maxtokens"),
    "word": ("top_k: 3", "top_k: many"),
    "nowhere": ("top_k: 3", "top_k: ${nowhere}"),
    "unknown file": ("- config", "- confg"),
    "unknown group": ("- _self_", "- _self_\n  - override rewritr: last_n"),
    "unknown option": ("- _self_", "- _self_\n  - override rewriter: lastn"),
    "defaults a word": ("defaults:\n  - config\n  - _self_", "defaults: config"),
    "plugins a word": ("top_k: 3", "plugins: mine.py"),
    "plugins numbers": ("top_k: 3", "plugins: [3]"),
    "plugins nowhere": ("top_k: 3", "plugins: [nope.py]"),
    "twice": ("top_k: 3", "top_k: 3\ntop_k: 4"),
    "flat stage": ("rewriter:\n  max_tokens: 9", "rewriter: last_n"),
    "search path": ("top_k: 3", "hydra:\n  searchpath: 3"),
    "NUL": ("top_k: 3", "top_k: 3\0"),
}


def replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_convrag([*arguments, "limit=1", "tracker=none", "hydra.run.dir=out"], folder)


def check(arguments: list[str], name: str, folder: Path) -> None:
    done = run("--config-dir", "mine", *arguments, folder=folder)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert name in done.stderr
    assert done.stderr.startswith("convrag: ")
    assert done.stderr.count("\n") == 1, "one line"
    assert done.stderr.count(name) == 1, "named once"
    assert not (folder / "out").exists()


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("mistake", [*REPLACED, *WHOLE])
def test_a_preset(mistake: str, here: Path) -> None:
    content = replaced(PRESET, *REPLACED[mistake]) if mistake in REPLACED else WHOLE[mistake]
    write(here / "mine/seed/bad.yaml", content)
    check(["+seed=bad"], "mine/seed/bad.yaml", here)


@pytest.mark.parametrize("mistake", IN_VARIANT)
def test_a_variant(mistake: str, here: Path) -> None:
    write(here / "mine/rewriter/bad.yaml", replaced(VARIANT, *IN_VARIANT[mistake]))
    check(["rewriter=bad"], "mine/rewriter/bad.yaml", here)


@pytest.mark.parametrize("mistake", IN_PRIMARY)
def test_a_configuration(mistake: str, here: Path) -> None:
    write(here / "mine/bad.yaml", replaced(PRIMARY, *IN_PRIMARY[mistake]))
    check(["--config-name", "bad"], "nope.py" if mistake == "plugins nowhere" else "mine/bad.yaml", here)


@pytest.mark.parametrize("kind", ["folder", "link", "circle"])
def test_what_is_no_file(kind: str, here: Path) -> None:
    path = here / "mine/seed/bad.yaml"
    path.parent.mkdir(parents=True)
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere.yaml" if kind == "link" else path)
    check(["+seed=bad"], "mine/seed/bad.yaml", here)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read(here: Path) -> None:
    write(here / "mine/seed/bad.yaml", PRESET)
    (here / "mine/seed/bad.yaml").chmod(0)
    check(["+seed=bad"], "mine/seed/bad.yaml", here)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_broken_is_no_traceback(seed: int, here: Path) -> None:
    """Three signs of the preset are dropped, doubled or replaced: it is refused with its name, or it still runs."""
    draw, text = random.Random(seed), PRESET
    for _ in range(3):
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice(["", text[at] * 2, *"[]{}:-#&*!|>'\"%@`\t\n ,?"]) + text[at + 1 :]
    write(here / "mine/seed/bad.yaml", text)
    done = run("--config-dir", "mine", "+seed=bad", folder=here)
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or "mine/seed/bad.yaml" in done.stderr, text


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_one_without_a_mistake_runs(start: str, here: Path) -> None:
    write(here / "mine/seed/good.yaml", start + PRESET)
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
    assert "mine/seed/bad.yaml, line 7, column 1: option 'topk' does not exist" in said
    assert not (here / "grid").exists()
