"""Hashes of the source code that the results of a class depend on.

    class TopicRewriter(acme_common.BaseRewriter): ...      # in the package acme_rag

Three sources count: the package acme_rag, the package acme_common, and the modules of convrag that
these two import, directly or not, such as convrag.sdk.text.sentences. Of convrag's rooms, the
interfaces and the wiring do not count, since they compute nothing. Imports are read from the text
of modules, and nothing is imported.

The libraries that bear on results count by their versions (see `convrag.store.libraries`).
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

CONVRAG = "convrag"
"""The package whose modules count one by one."""

LIGHT_ROOMS = tuple(
    f"{CONVRAG}.{room}." for room in ("api", "concurrency", "store", "registry", "config")
)
"""The beginnings of the names of modules that compute no results."""

_IMPORT = re.compile(
    r"^[ \t]*"
    r"(?:from[ \t]+(?P<module>convrag\b[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#;]*)"
    r"|import[ \t]+(?P<modules>[^\n#;]*))",
    re.MULTILINE,
)
_SUFFIXES = {
    *(".py", ".so", ".pyd"),
    *(".jinja", ".jinja2", ".j2", ".txt", ".md"),
    *(".json", ".yaml", ".yml", ".toml"),
}
"""The suffixes of files that count in a package."""


def hash_class(cls: type, libraries: Iterable[str] = ()) -> str:
    """Hash the packages of a class and of its base classes, and the modules of convrag they import.

    Args:
        cls: the class.
        libraries: packages that count by their version (see `Stage.libraries`): their source code
            does not count.
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
        elif top in hashes or top.lower() in counted_by_version:
            continue
        elif places := find_places(top):
            hashes[top], names = _read_package(places)
            imported |= names
        else:
            hashes[top] = _hash_functions(base)
    for module in find_imported_modules(imported):
        hashes[module] = _hash_module(module)
    return _combine(hashes)


def hash_package(module: str) -> str:
    """Hash the package that a module belongs to; the hash is empty if it has no file."""
    places = find_places(module.partition(".")[0])
    return _read_package(places)[0] if places else ""


@cache
def hash_modules(*names: str) -> str:
    """Hash modules and the modules of convrag that they import.

    The hash is part of the key of what the modules build, such as an index.

    Args:
        names: dotted names ("acme.search_index").
    """
    specs = [find_spec(name) for name in names]
    files = [Path(str(spec.origin)) for spec in specs if spec is not None]
    imported = find_imported_modules(
        name for file in files for name in find_imports(read_text(file))
    )
    return _hash_files([*files, *map(find_file, imported)])


def find_places(top: str) -> tuple[Path, ...]:
    """Find the folders of a top-level package, or the file of a single module.

    A namespace package may have several folders. A module that was typed at a prompt has none.
    """
    module = sys.modules.get(top)
    folders = getattr(module, "__path__", None)
    if folders is not None:
        return tuple(Path(folder) for folder in folders)
    file = getattr(module, "__file__", None)
    return (Path(file),) if file and Path(file).exists() else ()


@cache
def _read_package(places: tuple[Path, ...]) -> tuple[str, frozenset[str]]:
    """Return a hash of a package's files, and the dotted names that it imports from convrag."""
    files = _list_files(places)
    texts = (read_text(path) for path in files if path.suffix == ".py")
    return _hash_files(files), frozenset(name for text in texts for name in find_imports(text))


@cache
def _hash_module(module: str) -> str:
    """Hash the file of a module of convrag, once: a process runs the code that it has imported."""
    return _hash_files([find_file(module)])


def _list_files(places: Iterable[Path]) -> list[Path]:
    """List source files and templates, in a fixed order for each place.

    A place that is a file itself counts in any case.
    """
    files: list[Path] = []
    for place in places:
        if not place.is_dir():
            files.append(place)
        for folder, subfolders, names in os.walk(place):
            subfolders[:] = sorted(name for name in subfolders if not _is_ignored(name))
            paths = [Path(folder, name) for name in sorted(names)]
            files += [path for path in paths if path.suffix in _SUFFIXES]
    return files


def _is_ignored(folder: str) -> bool:
    return folder == "__pycache__" or folder.startswith(".")


def _hash_files(paths: Iterable[Path]) -> str:
    """Hash files, each with the text file of the same name that it may read (a list of words)."""
    total = blake2b(digest_size=16)
    for path in paths:
        total.update(path.name.encode())
        for file in (path, path.with_suffix(".txt")):
            total.update(file.read_bytes() if file.is_file() else b"")
    return total.hexdigest()


def _combine(hashes: dict[str, str]) -> str:
    return blake2b(repr(sorted(hashes.items())).encode(), digest_size=16).hexdigest()


def _hash_functions(cls: type) -> str:
    """Hash the functions of a class without a source file: one from a prompt or a notebook."""
    codes: dict[str, str] = {}
    for name, member in vars(cls).items():
        function = getattr(member, "__func__", getattr(member, "fget", member))
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            codes[name] = repr(_describe_code(code))
    return _combine(codes)


def _describe_code(value: Any) -> Any:
    """Describe the code of a function, or a constant in it, wherever it was typed."""
    if isinstance(value, CodeType):
        constants = [_describe_code(each) for each in value.co_consts]
        return [value.co_code.hex(), value.co_names, value.co_varnames, constants]
    if isinstance(value, frozenset):  # it has another order in each process
        return sorted(map(repr, value))
    return repr(value)


def find_imported_modules(names: Iterable[str]) -> list[str]:
    """Find the modules of convrag that names are imported from, and those that they import.

    The rooms that compute no results are left out.

    Args:
        names: dotted names, of modules or of what they define ("convrag.sdk.text.sentences",
            "convrag.PromptTemplate").

    Returns:
        The modules, sorted.
    """
    found: set[str] = set()
    queue = [module for name in names for module in _resolve(name)]
    while queue:
        module = queue.pop()
        if module in found or module.startswith(LIGHT_ROOMS):
            continue
        found.add(module)
        queue += _find_direct_imports(module)
    return sorted(found)


@cache
def _find_direct_imports(module: str) -> tuple[str, ...]:
    """Find the modules of convrag that a module imports itself."""
    names = find_imports(read_text(find_file(module)))
    return tuple(imported for name in names for imported in _resolve(name))


def find_imports(text: str) -> Iterator[str]:
    """Yield the dotted names that a module imports from convrag, wherever in the module."""
    for found in _IMPORT.finditer(text):
        if module := found["module"]:  # from convrag... import ...
            without_comments = re.sub(r"#[^\n]*", "", found["names"])
            for words in map(str.split, without_comments.strip("() \t\n").split(",")):
                if words:
                    yield f"{module}.{words[0]}"
        else:  # import ...
            for words in map(str.split, found["modules"].split(",")):
                if words and words[0].partition(".")[0] == CONVRAG:
                    yield f"{words[0]}.*"


def find_file(module: str) -> Path:
    """Find the file of a module or package of convrag; it need not exist."""
    path = Path(__file__).parents[1].joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")


@cache
def read_text(path: Path) -> str:
    """Read a source file, once in a process; the text of a missing file is empty."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


@cache
def _resolve(name: str) -> tuple[str, ...]:
    """Return the modules of convrag that define a dotted name.

    For a name of a package, that is the module from which the package's `__init__` imports it.
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
    """Read the names that the `__init__` of a package imports: name -> modules."""
    offered: dict[str, list[str]] = {}
    for name in find_imports(read_text(file)):
        module, _, attribute = name.rpartition(".")
        offered.setdefault(attribute, []).append(module)
    return offered
