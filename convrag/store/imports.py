"""The modules of convrag that source code imports, directly or not, read from its text without importing anything."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

CONVRAG = "convrag"
_WITHOUT_RESULTS = tuple(f"{CONVRAG}.{room}." for room in ("api", "store", "registry", "config"))
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>convrag\b[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#;]*)"
    r"|import[ \t]+(?P<modules>[^\n#;]*))",
    re.MULTILINE,
)
_LIBRARIES = re.compile(r"^LIBRARIES = (\(.*\))", re.MULTILINE)


def find_imported_modules(names: Iterable[str]) -> list[str]:
    """Find the modules of convrag behind imported names, and those that they import, without those of `api` and so on.

    Args:
        names: dotted names, of modules or of what they define ("convrag.sdk.sentences", "convrag.PromptTemplate").

    Returns:
        The modules, sorted.
    """
    found: set[str] = set()
    waiting = [module for name in names for module in _resolve(name)]
    while waiting:
        module = waiting.pop()
        if module in found or module.startswith(_WITHOUT_RESULTS):
            continue
        found.add(module)
        waiting += _find_direct_imports(module)
    return sorted(found)


@cache
def _find_direct_imports(module: str) -> tuple[str, ...]:
    """Find the modules of convrag that a module imports itself. Its text is read once in a process, as Python does."""
    return tuple(inner for name in find_imports(read_text(find_file(module))) for inner in _resolve(name))


def find_imports(text: str) -> Iterator[str]:
    """Yield the dotted names that a module imports from convrag, wherever in the module."""
    for found in _IMPORT.finditer(text):
        if module := found["module"]:
            names = re.sub(r"#[^\n]*", "", found["names"]).strip("() \t\n").split(",")
            yield from (f"{module}.{words[0]}" for name in names if (words := name.split()))
        else:
            modules = (name.split()[0] for name in found["modules"].split(",") if name.split())
            yield from (f"{name}.*" for name in modules if name.partition(".")[0] == CONVRAG)


@cache
def read_libraries(module: str) -> tuple[str, ...]:
    """Read the constant LIBRARIES of a module: the distributions whose versions bear on what it computes."""
    found = _LIBRARIES.search(read_text(find_file(module)))
    return tuple(literal_eval(found[1])) if found else ()


def find_file(module: str) -> Path:
    """Find the file of a module or package of convrag; it need not exist."""
    path = Path(__file__).parents[1].joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")


@cache
def read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


@cache
def _resolve(name: str) -> tuple[str, ...]:
    """Return the modules of convrag behind a dotted name. For a package it is the module from which it has the name."""
    package, _, attribute = name.rpartition(".")
    if _is_module(name):
        return (name,)
    if _is_module(package):
        return (package,)
    file = find_file(package)
    offered = _read_facade(file)
    if attribute == "*":
        return tuple(module for modules in offered.values() for module in modules)
    return tuple(offered.get(attribute, [package] if file.is_file() else []))


def _is_module(name: str) -> bool:
    file = find_file(name)
    return file.is_file() and file.name != "__init__.py"


@cache
def _read_facade(file: Path) -> dict[str, list[str]]:
    """Read which names the `__init__` of a package imports from other modules: name -> modules."""
    offered: dict[str, list[str]] = {}
    for name in find_imports(read_text(file)):
        module, _, attribute = name.rpartition(".")
        offered.setdefault(attribute, []).append(module)
    return offered
