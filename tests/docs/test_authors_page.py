"""docs/authors.md: made from the code, complete, and its examples run."""

import ast
import doctest
import importlib
import inspect
import re
from collections import defaultdict
from importlib import import_module
from types import ModuleType

import pytest

import convrag
from convrag.api.groups import GROUPS
from convrag.sdk import errors, types
from places import ROOT

PAGE = (ROOT / "docs/authors.md").read_text(encoding="utf-8")
INTERFACE = ("documents", "errors", "records", "stage", "stages", "types")
"""The modules of convrag.api with what authors touch."""

HELPERS = sorted(
    path.stem for path in (ROOT / "convrag/sdk").glob("*.py") if path.stem != "__init__"
)


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """docs/build_authors.py as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("build_authors")


def test_the_page_is_up_to_date(builder: ModuleType) -> None:
    assert builder.build_page() == PAGE, "run: python docs/build_authors.py"


def test_it_has_every_public_name(builder: ModuleType) -> None:
    documented = {
        line.removeprefix("### ") for line in PAGE.splitlines() if line.startswith("### ")
    }
    missing = {*convrag.__all__} - documented - {*builder.PROGRAMS}
    assert not missing
    programs = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert [name for name in builder.PROGRAMS if name not in programs] == []
    assert {cls.__name__ for cls in GROUPS.values()} <= documented


@pytest.mark.parametrize("name", INTERFACE)
def test_what_authors_touch_has_a_door(name: str) -> None:
    module = import_module(f"convrag.api.{name}")
    own = {
        each
        for each, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
    }
    public = {
        each for each in own if inspect.isclass(getattr(module, each)) and not each.startswith("_")
    }
    assert public - {"Wording"} <= {*convrag.__all__, *vars(errors), *vars(types)}
    for door in (convrag, errors, types):
        assert all(getattr(door, each) is getattr(module, each) for each in public & {*vars(door)})


@pytest.mark.parametrize(
    "name", [*(f"api.{each}" for each in INTERFACE), *(f"sdk.{each}" for each in HELPERS)]
)
def test_the_examples_run(name: str) -> None:
    failed, _ = doctest.testmod(import_module(f"convrag.{name}"))
    assert not failed


def test_its_links_lead_somewhere() -> None:
    headings = [line.lstrip("# ") for line in PAGE.splitlines() if line.startswith("#")]
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)\s]+)\)", PAGE):
        path, _, anchor = target.partition("#")
        assert anchor in anchors if not path else (ROOT / "docs" / path).is_file(), target


def test_every_type_has_an_example(builder: ModuleType) -> None:
    for name in " ".join(builder.TYPES.values()).split():
        assert "```pycon" in PAGE.partition(f"### {name}\n")[2].partition("\n### ")[0], name


def test_helpers_that_plugins_import_are_public(builder: ModuleType) -> None:
    """Ours are plugins like any other, so what they take from convrag.sdk is for everybody."""
    used: dict[str, set[str]] = defaultdict(set)
    for path in [*(ROOT / "plugins").rglob("*.py"), *(ROOT / "docs/examples").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("convrag.sdk."):
                used[str(node.module)] |= {alias.name for alias in node.names}
    assert len(used) > 20
    hidden = {
        module: names - {*builder.list_public_names(import_module(module))}
        for module, names in used.items()
    }
    assert {module: names for module, names in hidden.items() if names} == {}
