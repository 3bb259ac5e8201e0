"""Hashes of the source code that the results of a class depend on.

    class TopicRewriter(acme_common.BaseRewriter): ...      # in the package acme_rag

Three sources count: the package acme_rag, the package acme_common, and the modules of convrag that
these two import, directly or not, such as convrag.sdk.text.sentences. Of convrag's rooms, those
with interfaces and wiring do not count, since they compute nothing. Imports are read from the text
of modules, and nothing is imported.
"""

import os
import re
import sys
from ast import literal_eval
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

CONVRAG = "convrag"
_WITHOUT_RESULTS = tuple(f"{CONVRAG}.{room}." for room in ("api", "store", "registry", "config"))
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>convrag\b[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#;]*)"
    r"|import[ \t]+(?P<modules>[^\n#;]*))",
    re.MULTILINE,
)
_LIBRARIES = re.compile(r"^LIBRARIES = (\(.*\))", re.MULTILINE)

_SUFFIXES = {
    ".py",
    ".so",
    ".pyd",
    ".jinja",
    ".jinja2",
    ".j2",
    ".txt",
    ".md",
    ".json",
    ".yaml",
    ".yml",
    ".toml",
}


class Source(NamedTuple):
    """What the results of a class depend on: a hash of source code, and the libraries that this
    code names.
    """

    hash: str
    libraries: tuple[str, ...]


def read_source(cls: type, libraries: Iterable[str] = ()) -> Source:
    """Hash the packages of a class and of its base classes, and the modules of convrag that they
    import.

    Args:
        cls: the class.
        libraries: packages whose version counts (see `Stage.libraries`), so that their source need
            not.
    """
    counted_by_version = {name.replace("-", "_").lower() for name in libraries}
    hashes: dict[str, str] = {}
    imported: set[str] = set()
    for base in cls.__mro__:
        top = base.__module__.partition(".")[0]
        if top in sys.stdlib_module_names and top != "__main__":
            continue
        if top == CONVRAG:
            imported.add(base.__module__)
        elif top not in hashes and top.lower() not in counted_by_version:
            places = _find_places(top)
            hashes[top], names = (
                _read_package(places) if places else (_hash_functions(base), frozenset())
            )
            imported |= names
    modules = find_imported_modules(imported)
    hashes |= {module: _hash_module(module) for module in modules}
    named = [name for module in modules for name in read_libraries(module)]
    return Source(_combine(hashes), tuple(sorted({*named})))


def hash_package(module: str) -> str:
    """Hash the package that a module belongs to; the hash is empty if it has no file."""
    return _read_package(places)[0] if (places := _find_places(module.partition(".")[0])) else ""


@cache
def hash_modules(*names: str) -> str:
    """Hash modules and the modules of convrag that they import, for the key of what they build,
    such as an index.

    Args:
        names: dotted names ("acme.search_index").
    """
    files = [Path(str(spec.origin)) for name in names if (spec := find_spec(name)) is not None]
    imported = find_imported_modules(
        name for file in files for name in find_imports(read_text(file))
    )
    return _hash_files([*files, *map(find_file, imported)])


def _find_places(top: str) -> tuple[Path, ...]:
    """Find the folders of a top-level package, or the file of a single module; none if it was typed
    at a prompt.

    A namespace package may have several folders.
    """
    module = sys.modules.get(top)
    folders = getattr(module, "__path__", None)
    if folders is not None:
        return tuple(Path(folder) for folder in folders)
    file = getattr(module, "__file__", None)
    return (Path(file),) if file and Path(file).exists() else ()


@cache
def _read_package(places: tuple[Path, ...]) -> tuple[str, frozenset[str]]:
    """Return a hash of the files of a package, and the dotted names that it imports from convrag."""
    files = _list_files(places)
    texts = (read_text(path) for path in files if path.suffix == ".py")
    return _hash_files(files), frozenset(name for text in texts for name in find_imports(text))


@cache
def _hash_module(module: str) -> str:
    """Hash the file of a module of convrag. It is read once in a process, which runs what it has
    imported.
    """
    return _hash_files([find_file(module)])


def _list_files(places: Iterable[Path]) -> list[Path]:
    """List source files and templates, in a fixed order for each place. A place that is a file
    counts in any case.
    """
    files: list[Path] = []
    for place in places:
        if not place.is_dir():
            files.append(place)
        for folder, subfolders, names in os.walk(place):
            subfolders[:] = sorted(
                name for name in subfolders if name != "__pycache__" and not name.startswith(".")
            )
            files += (
                path for name in sorted(names) if (path := Path(folder, name)).suffix in _SUFFIXES
            )
    return files


def _hash_files(paths: Iterable[Path]) -> str:
    total = blake2b(digest_size=16)
    for path in paths:
        total.update(path.name.encode())
        for file in (
            path,
            path.with_suffix(".txt"),
        ):  # what a module reads, such as a list of words
            total.update(file.read_bytes() if file.is_file() else b"")
    return total.hexdigest()


def _combine(hashes: dict[str, str]) -> str:
    return blake2b(repr(sorted(hashes.items())).encode(), digest_size=16).hexdigest()


def _hash_functions(cls: type) -> str:
    """Hash the functions of a class that has no source file, since it was defined at a prompt or in
    a notebook.
    """
    members = (
        (name, getattr(each, "__func__", getattr(each, "fget", each)))
        for name, each in vars(cls).items()
    )
    codes = {
        name: code
        for name, each in members
        if isinstance(code := getattr(each, "__code__", None), CodeType)
    }
    return _combine({name: repr(_describe_code(code)) for name, code in codes.items()})


def _describe_code(value: Any) -> Any:
    """Describe the code of a function, or a constant in it, without the place where it was typed."""
    if isinstance(value, CodeType):
        constants = [_describe_code(each) for each in value.co_consts]
        return [value.co_code.hex(), value.co_names, value.co_varnames, constants]
    # a set has another order each time
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def find_imported_modules(names: Iterable[str]) -> list[str]:
    """Find the modules of convrag behind imported names, and what they import, without `api` and
    the other light rooms.

    Args:
        names: dotted names, of modules or of what they define ("convrag.sdk.text.sentences",
            "convrag.PromptTemplate").

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
    """Find the modules of convrag that a module imports itself. Its text is read once in a process,
    as Python does.
    """
    return tuple(
        inner for name in find_imports(read_text(find_file(module))) for inner in _resolve(name)
    )


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
    """Read the constant LIBRARIES of a module: the distributions whose versions bear on what it
    computes.
    """
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
    """Return the modules of convrag behind a dotted name. For a package it is the module from which
    it has the name.
    """
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
