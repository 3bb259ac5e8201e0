"""The fixtures of the tests themselves."""

import ast
from pathlib import Path

from places import ROOT

TESTS = ROOT / "tests"


def find_fixtures(path: Path) -> set[str]:
    """Find the names of the fixtures that a module defines."""
    functions = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
    ]
    return {
        function.name
        for function in functions
        if any("pytest.fixture" in ast.unparse(each) for each in function.decorator_list)
    }


def find_imported(path: Path) -> set[tuple[str, str]]:
    """Find what a module imports from others: (module, name)."""
    return {
        (node.module or "", alias.name)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_conftest_alone_imports_fixtures() -> None:
    """pytest would start one server of a session for each module that imports its fixture, and the
    last to start or to stop would decide which address is in the environment.
    """
    fixtures = {
        (path.stem, name)
        for path in (TESTS / "support").glob("*.py")
        for name in find_fixtures(path)
    }
    assert ("search_engines", "started_engine") in fixtures
    importing = {
        f"{path.relative_to(TESTS)}: {name}"
        for path in TESTS.rglob("test_*.py")
        for _, name in find_imported(path) & fixtures
    }
    assert not importing
