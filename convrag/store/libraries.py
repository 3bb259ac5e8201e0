"""The libraries that bear on the results of a class: those that its own code reaches.

A module of convrag, or of a plugin's package, names the libraries that bear on what it computes,
by the name of the module that it imports:

    LIBRARIES = {"Stemmer": "PyStemmer"}            # import name -> distribution

    def stem(word):
        from Stemmer import Stemmer
        ...

The version of such a library is part of the fingerprint of a stage whose code reaches the import.
The search begins with the class and its base classes, and follows the names that they use through
the functions, classes and constants of their packages and of convrag. So a class that takes one
function from a module does not depend on the libraries of the other functions there. The libraries
of injected stages count in the fingerprints of those stages.

REPLY_LIBRARIES are named in the same way. They only read what a language model wrote, so they do
not count for a stage without a model.

The code is read as a syntax tree, and nothing is imported. What the tree cannot show is counted
rather than left out: statements of a module that define nothing, decorated functions (which the
decorator may register), and, where a package imports modules by computed names, all its modules.
A library that is reached in no such way is named in `Stage.libraries`.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from convrag.store.code_hash import (
    CONVRAG,
    LIGHT_ROOMS,
    find_file,
    find_imported_modules,
    find_places,
    read_text,
)

_WHOLE = "*"
"""Stands for all names of a module."""

_ROOMS_WITHOUT_LIBRARIES = (
    *LIGHT_ROOMS,
    *(f"{CONVRAG}.{room}." for room in ("turn", "run", "score", "sweep", "cli", "testing")),
)
"""The beginnings of the names of modules that name no libraries."""

_IMPORTERS = ("import_module", "__import__")
"""The functions that import modules by computed names."""

_HARMLESS_DECORATORS = {"cache", "lru_cache", "contextmanager", "asynccontextmanager", "dataclass"}
"""Decorators that register nothing."""


class Reference(NamedTuple):
    """A name of a module ("find_stems" of "convrag.sdk.text.analysis")."""

    module: str
    name: str


@dataclass
class Code:
    """The names and imports of a piece of code.

    Args:
        names: (name, first attribute) of each name that it reads; the attribute may be empty.
        imports: the names that its own import statements bind -> where they are from.
    """

    names: set[tuple[str, str]] = field(default_factory=set)
    imports: dict[str, Reference] = field(default_factory=dict)


@dataclass
class Module:
    """A module's code by the names that it defines.

    Args:
        definitions: name -> the code of its definitions.
        statements: code that runs or registers something whenever the module is imported.
        imports: the names that its import statements bind -> where they are from.
        constants: the values of LIBRARIES and REPLY_LIBRARIES.
    """

    definitions: dict[str, Code] = field(default_factory=dict)
    statements: Code = field(default_factory=Code)
    imports: dict[str, Reference] = field(default_factory=dict)
    constants: dict[str, dict[str, str]] = field(default_factory=dict)


@cache
def find_libraries(cls: type, *, asks_model: bool = True) -> tuple[str, ...]:
    """Find the distributions that the code of a class reaches, sorted.

    Args:
        cls: the class.
        asks_model: whether libraries that read the replies of language models count.
    """
    constants = ["LIBRARIES", "REPLY_LIBRARIES"] if asks_model else ["LIBRARIES"]
    found: set[str] = set()
    for module, imported in _find_outside_imports(cls):
        for constant in constants:
            known = _read_module(module).constants.get(constant, {})
            if imported in known:
                found.add(known[imported])
    return tuple(sorted(found))


@cache
def _find_outside_imports(cls: type) -> frozenset[tuple[str, str]]:
    """Find the imports of other packages that the code of a class reaches.

    Returns:
        (the module that imports, the top-level name of the module that is imported).
    """
    packages = {CONVRAG}
    queue: list[Reference] = []
    for base in cls.__mro__:
        top = base.__module__.partition(".")[0]
        if top not in sys.stdlib_module_names:
            packages.add(top)
            queue.append(Reference(base.__module__, base.__qualname__.partition(".")[0]))
    outside: set[tuple[str, str]] = set()
    seen: set[Reference] = set()
    while queue:
        reference = queue.pop()
        if reference in seen or not _may_reach_libraries(reference.module):
            continue
        seen.add(reference)
        for used in _find_references(reference):
            top = used.module.partition(".")[0]
            if top in packages:
                queue.append(used)
            else:
                outside.add((reference.module, top))
    return frozenset(outside)


@cache
def _may_reach_libraries(module: str) -> bool:
    """Whether a module may lead to one that names libraries; the others are not read."""
    if module.partition(".")[0] != CONVRAG:
        return True
    if module.startswith(_ROOMS_WITHOUT_LIBRARIES):
        return False
    modules = find_imported_modules([f"{module}.*"])
    return any("LIBRARIES = " in read_text(find_file(each)) for each in modules)


def _find_references(reference: Reference) -> Iterator[Reference]:
    """Yield what the code of a name refers to."""
    module = _read_module(reference.module)
    if reference.name == _WHOLE:
        yield from module.imports.values()
        pieces = [*module.definitions.values(), module.statements]
    elif reference.name in module.definitions:
        pieces = [module.definitions[reference.name], module.statements]
    elif reference.name in module.imports:  # the module passes on what another one defines
        yield module.imports[reference.name]
        return
    else:
        pieces = [module.statements]
        submodule = f"{reference.module}.{reference.name}"
        if _locate(submodule):
            yield Reference(submodule, _WHOLE)
    for code in pieces:
        yield from _resolve(code, reference.module, module)


def _resolve(code: Code, name: str, module: Module) -> Iterator[Reference]:
    """Yield where the names that a piece of code uses are from, without its local names."""
    imports = {**module.imports, **code.imports}
    for used, attribute in code.names:
        if used in _IMPORTERS:
            yield from _list_package(name)
        elif used in imports:
            target = imports[used]
            if target.name == _WHOLE and attribute:
                yield Reference(target.module, attribute)
            elif _locate(f"{target.module}.{target.name}"):
                yield Reference(f"{target.module}.{target.name}", attribute or _WHOLE)
            else:
                yield target
        elif used in module.definitions:
            yield Reference(name, used)


def _list_package(module: str) -> Iterator[Reference]:
    """Yield all modules of a plugin's package, one of which imports modules by computed names."""
    top = module.partition(".")[0]
    if top == CONVRAG:  # it only does so for names that are given to it
        return
    for folder in find_places(top):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            inner = parts[:-1] if parts[-1] == "__init__" else parts
            yield Reference(".".join([top, *inner]), _WHOLE)


@cache
def _locate(module: str) -> Path | None:
    """Find the file of a module of convrag or of a package that is imported; None where none is."""
    top, _, inner = module.partition(".")
    if top == CONVRAG:
        paths = [find_file(module)]
    elif not inner:
        paths = [place / "__init__.py" if place.is_dir() else place for place in find_places(top)]
    else:
        places = [place.joinpath(*inner.split(".")) for place in find_places(top)]
        paths = [place.with_name(f"{place.name}.py") for place in places]
        paths += [place / "__init__.py" for place in places]
    return next((path for path in paths if path.is_file()), None)


@cache
def _read_module(name: str) -> Module:
    """Read a module; one without a file, or with an error of syntax, has nothing."""
    module = Module()
    path = _locate(name)
    if path is None:
        return module
    try:
        tree = ast.parse(read_text(path))
    except (SyntaxError, ValueError):
        return module
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    _read_statements(tree.body, module, package)
    return module


def _read_statements(statements: Iterable[ast.stmt], module: Module, package: str) -> None:
    """Add statements of a module's top level, and of its conditions and handlers there."""
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imports = _read_import(statement, package)
            module.imports.update(imports)
            if _WHOLE in imports:  # from m import *
                module.statements.names.add((_WHOLE, ""))
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            inner = [each for each in ast.iter_child_nodes(statement) if isinstance(each, ast.stmt)]
            for handler in getattr(statement, "handlers", ()):
                inner += handler.body
            _read_statements(inner, module, package)
        else:
            _read_definition(statement, module, package)


def _read_definition(statement: ast.stmt, module: Module, package: str) -> None:
    names: list[str] = []
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        names = [statement.name]
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        bound = (each for each in ast.walk(statement) if isinstance(each, ast.Name))
        names = [each.id for each in bound if isinstance(each.ctx, ast.Store)]
    for constant in ("LIBRARIES", "REPLY_LIBRARIES"):
        if constant in names and isinstance(statement, ast.Assign):
            module.constants[constant] = _read_constant(statement.value)
    for name in names:
        _read_code(statement, module.definitions.setdefault(name, Code()), package)
    if not names or _may_be_registered(statement):
        _read_code(statement, module.statements, package)


def _may_be_registered(statement: ast.stmt) -> bool:
    """Whether a function or class has a decorator that may register it."""
    for decorator in getattr(statement, "decorator_list", ()):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name not in _HARMLESS_DECORATORS:
            return True
    return False


def _read_constant(value: ast.expr) -> dict[str, str]:
    """Read a dictionary of texts; anything else has nothing."""
    try:
        constant = ast.literal_eval(value)
    except ValueError:
        return {}
    return constant if isinstance(constant, dict) else {}


def _read_code(node: ast.AST, code: Code, package: str) -> None:
    """Add what a node and those below it use, without the annotations of functions."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            code.names.add((node.id, ""))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            code.names.add((node.value.id, node.attr))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imports = _read_import(node, package)
            code.imports.update(imports)
            if isinstance(node, ast.Import):  # it may be wanted for what it registers
                code.names.update((name, "") for name in imports)
        else:
            stack += _list_children(node)


def _list_children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below a node, without the annotations of functions."""
    for name in node._fields:
        if name == "returns" or (name == "annotation" and isinstance(node, ast.arg)):
            continue
        child = getattr(node, name, None)
        if isinstance(child, ast.AST):
            yield child
        elif isinstance(child, list):
            yield from (each for each in child if isinstance(each, ast.AST))


def _read_import(node: ast.Import | ast.ImportFrom, package: str) -> dict[str, Reference]:
    """Read which names an import statement binds, and where they are from."""
    if isinstance(node, ast.Import):
        bound: dict[str, Reference] = {}
        for each in node.names:
            module = each.name if each.asname else each.name.partition(".")[0]
            bound[each.asname or module] = Reference(module, _WHOLE)
        return bound
    source = node.module or ""
    if node.level:
        parents = package.split(".")
        parents = parents[: len(parents) - node.level + 1]
        source = ".".join([*parents, source] if source else parents)
    return {each.asname or each.name: Reference(source, each.name) for each in node.names}
