"""docs/benchmarks.md has the tables of benchmarks/results and keeps other text; `benchmarks/run.py`
names mistakes.
"""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from places import ROOT

FOLDER = ROOT / "benchmarks"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """benchmarks/run.py as a module; its neighbours are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield import_module("run")
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]


def test_the_page_has_the_tables_of_the_results(run: Any) -> None:
    page = run.PAGE.read_text(encoding="utf-8")
    assert page == run.make_page(page), "run: python benchmarks/run.py --page"


def test_each_plot_is_there(run: Any) -> None:
    for part in run.read_results():
        if hasattr(import_module(part), "list_bars"):
            assert (
                (FOLDER.parent / "docs/images" / run.name_plot(part))
                .read_text(encoding="utf-8")
                .startswith("<?xml")
            )


def test_each_part_has_a_result_and_a_place_on_the_page(run: Any) -> None:
    assert set(run.read_results()) <= set(run.PARTS)
    page = run.PAGE.read_text(encoding="utf-8")
    for part in run.PARTS:
        assert f"<!-- measured: {part} -->" in page
        assert import_module(part).measure.__doc__


def test_a_new_result_changes_its_block_alone(run: Any) -> None:
    before = "words\n<!-- measured: a -->\n\nold\n\n<!-- end: a -->\nmore\n<!-- measured: b -->\n<!-- end: b -->\nend"
    after = run.fill_page(before, {"a": "new \\1"})
    assert after == before.replace("old", "new \\1")
    with pytest.raises(SystemExit, match="<!-- measured: c -->"):
        run.fill_page(before, {"c": "new"})


def test_every_environment_is_pinned(run: Any) -> None:
    environments = import_module("environments")
    for path in environments.PINNED.glob("*.txt"):
        lines = [
            line
            for line in path.read_text(encoding="utf-8").splitlines()
            if not line.startswith(("#", "-c"))
        ]
        assert lines
        assert all("==" in line for line in lines) or lines == ["."]


def test_raw_numbers_name_no_machine() -> None:
    for path in (FOLDER / "results").glob("*.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        assert result["part"] == path.stem
        assert "/" not in json.dumps(result["machine"])
        assert "--small" not in result["command"]
