"""The generated page authors.md: complete, its links lead somewhere, and its examples run."""

import doctest
import importlib
import inspect
import re
import sys
from importlib import import_module
from types import ModuleType

import pytest

import convrag
from convrag.api.groups import GROUPS
from convrag.sdk import errors, types
from places import ROOT

INTERFACE = (
    "answers",
    "completions",
    "conversations",
    "documents",
    "errors",
    "evidence",
    "passages",
    "queries",
    "records",
    "stage",
    "stages",
)
"""The modules of convrag.api that authors of plugins use."""


def load_builder() -> ModuleType:
    """docs/build_authors.py as a module."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module("build_authors")
    finally:
        sys.path.remove(str(ROOT / "docs"))


BUILDER = load_builder()
PAGE = BUILDER.build_page()
HELPERS = [name for names in BUILDER.HELPERS.values() for name in names.split()]


def test_it_has_every_public_name() -> None:
    documented = {
        line.removeprefix("### ") for line in PAGE.splitlines() if line.startswith("### ")
    }
    missing = {*convrag.__all__} - documented - {*BUILDER.PROGRAMS}
    assert not missing
    programs = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert [name for name in BUILDER.PROGRAMS if name not in programs] == []
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
        if path:
            assert path == "reference.md" or (ROOT / "docs" / path).is_file(), target
        else:
            assert anchor in anchors, target


def test_every_type_has_an_example() -> None:
    for name in " ".join(BUILDER.TYPES.values()).split():
        assert "```pycon" in PAGE.partition(f"### {name}\n")[2].partition("\n### ")[0], name


def test_examples_and_templates_import_only_public_modules() -> None:
    """What we give to authors of plugins to copy stands on what we promise to keep."""
    folders = (ROOT / "docs/examples", ROOT / "plugins/convrag_kit/templates")
    sources = [
        path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".jinja")
    ]
    public = {
        "convrag.sdk.errors",
        "convrag.sdk.types",
        *(f"convrag.sdk.{name}" for name in HELPERS),
    }
    used = {
        module
        for path in sources
        for module in re.findall(r"from (convrag\.sdk[.\w]*) import", path.read_text("utf-8"))
    }
    assert len(used) > 3
    assert used - public == set()
