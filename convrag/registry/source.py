"""Classes as their source has them: found and read without importing their module.

A plugin registers "acme.rewriter:TopicRewriter"; help, `requires` and parameters are read from the
text of that class. Where the text does not say it plainly, the answer is None, and the caller
imports the class.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import typing
from collections import abc
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS
from convrag.api.stage import Stage
from convrag.registry.parameters import Parameter, Use, make_parameter, operational

_LONGEST_CHAIN = 8
"""How many re-exports are followed, one after the other."""


_SUMMARY = re.compile(r'^class (\w+)[^:]*:\n\s+r?"""(.*?)(?:"""|\n)', re.MULTILINE)
_BODY = re.compile(
    r"^( *)((?:async )?def \w+\((?:.*|\n(?:\1    .*\n)+\1.*):)\n(?:(?:\1 +.*)?\n)+", re.MULTILINE
)
"""A function: its indentation, its head, and its body, which nobody here reads and which takes long
to parse.
"""
_MADE_NAMES = re.compile(r"\b__getattr__\b|\bimport \*|\bglobals\(\)")
"""A module with one of these may have classes whose names do not stand in it."""


_STAGES: Mapping[str, type[Stage]] = {"Stage": Stage} | {
    stage.__name__: stage for stage in GROUPS.values()
}
_KNOWN: dict[str, Any] = (
    {
        cls.__name__: cls
        for cls in (bool, int, float, str, bytes, object, list, tuple, dict, set, frozenset, Path)
    }
    | {name: getattr(typing, name) for name in ("Any", "Literal", "Annotated", "Optional", "Union")}
    | {name: getattr(abc, name) for name in ("Sequence", "Iterable", "Collection", "Mapping")}
    | {"convrag": sys.modules["convrag"], "typing": typing, "operational": operational}
    | {
        "Store": type("Store", (), {"__module__": "convrag.store.store"})
    }  # to import the store takes long
    | dict.fromkeys(
        ("Ge", "Gt", "Le", "Lt", "Interval"), lambda *_, **__: None
    )  # so do limits; no reader needs them
    | {**_STAGES}
)
"""What an annotation may consist of so that nobody need import it."""


_Written = tuple[str, ast.expr | None, ast.expr | None]
"""A parameter as it is written: its name, annotation and default."""


class WrongPath(Exception):
    """There is no such module, or no such class in it."""


def is_imported(path: str) -> bool:
    """Whether the class that a path names is there already."""
    module, _, name = path.partition(":")
    return hasattr(sys.modules.get(module), name)


def find_module(name: str) -> ModuleSpec | None:
    """Where a module lies; None where there is none. Of a dotted name nothing is imported, the
    packages included.
    """
    top, *inner = name.split(".")
    if not all(part.isidentifier() for part in (top, *inner)):
        return None
    try:
        spec = find_spec(top)
    except ValueError:  # a module that somebody made up has no place
        return None
    for depth, _ in enumerate(inner, 2):
        if spec is None or spec.submodule_search_locations is None:
            return None
        path, dotted = spec.submodule_search_locations, ".".join(name.split(".")[:depth])
        finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next(
            (found for finder in finders if (found := finder.find_spec(dotted, path))), None
        )
    return spec


@cache
def read_module(name: str) -> str | None:
    """The text of a module; None where it has none (a compiled one, a package without
    `__init__.py`).

    Raises:
        WrongPath: there is no such module.
    """
    spec = find_module(name)
    if spec is None:
        raise WrongPath(f"there is no module {name}")
    read = getattr(spec.loader, "get_source", None)
    try:
        return read(name) if read else None
    except (ImportError, UnicodeError, SyntaxError):  # who imports it hears what is wrong with it
        return None


def read_summary(target: str) -> str | None:
    """The first line of a class's docstring, by "module:Class"; None where the module does not have
    the two.

    `--help` shows a hundred of them, so that parsing each module would take a third of its time.
    """
    module, _, name = target.partition(":")
    if find_module(module) is None:
        return None
    text = read_module(module) or ""
    found = next((each for each in _SUMMARY.finditer(text) if each[1] == name), None)
    return found[2].strip() if found else None


def check_path(target: str) -> None:
    """Raise WrongPath where there is no such module, or the class's name does not occur in it.
    Nothing is parsed.
    """
    module, _, name = target.partition(":")
    if not name.isidentifier():
        raise WrongPath('a path is written "package.module:Class"')
    text = read_module(module)
    if text is not None and name not in text and not _MADE_NAMES.search(text):
        raise WrongPath(f"{module} has no class {name}")


@cache
def find_class(target: str) -> ClassSource | None:
    """The class that "package.module:Class" names; None where its text does not say where the class
    comes from.

    Raises:
        WrongPath: there is no such module, or the name does not occur in it.
    """
    check_path(target)
    module, _, name = target.partition(":")
    for _ in range(_LONGEST_CHAIN):
        found = read_names(module).get(name)
        if isinstance(found, ast.ClassDef):
            return ClassSource(module, found)
        if not isinstance(found, tuple):
            return None
        module, name = found
    return None


@cache
def read_names(module: str) -> Mapping[str, ast.ClassDef | ast.expr | tuple[str, str]]:
    """What names of a module stand for: a class, the value of a constant, or (module, name) of what
    is imported.

    Raises WrongPath where there is no such module. One that is no Python has no names: who imports
    it hears of that.
    """
    spec = find_module(module)
    package = (
        module
        if spec and spec.submodule_search_locations is not None
        else module.rpartition(".")[0]
    )
    names: dict[str, ast.ClassDef | ast.expr | tuple[str, str]] = {}
    for text in (_BODY.sub(r"\1\2 ...\n", read_module(module) or ""), read_module(module) or ""):
        with suppress(SyntaxError):
            statements = ast.parse(text).body
            break
    else:
        return {}
    for statement in statements:
        match statement:
            case ast.ClassDef(name):
                names[name] = statement
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(
                ast.Name(name), value=ast.expr() as value
            ):
                names[name] = value
            case ast.ImportFrom():
                origin = resolve_name("." * statement.level + (statement.module or ""), package)
                names |= {each.asname or each.name: (origin, each.name) for each in statement.names}
    return names


@dataclass(frozen=True)
class ClassSource:
    """A class as it is written, and the module where it stands."""

    module: str
    node: ast.ClassDef

    @property
    def file(self) -> str:
        """The file of the module."""
        return str(getattr(find_module(self.module), "origin", None) or "")

    @cached_property
    def requires(self) -> Mapping[str, str] | None:
        """What the class says in `requires`, or inherits, where that is a literal."""
        if self._decorators not in ([], ["dataclass"]):
            return None
        for statement in self.node.body:
            match statement:
                case ast.Assign([ast.Name("requires")], value) | ast.AnnAssign(
                    ast.Name("requires"), value=ast.expr() as value
                ):
                    stated = _evaluate(value)
                    return stated if isinstance(stated, dict) else None
        return self.base.requires if self.base else {} if self.plain else None

    @cached_property
    def parameters(self) -> Mapping[str, Parameter] | None:
        """The constructor's parameters by name, inherited ones too; None where the source does not
        say them plainly.

        Those of a dataclass are its fields. A decorator of another name may change everything.
        """
        inherited = self.base.parameters if self.base else {} if self.plain else None
        inits = [
            each
            for each in self.node.body
            if isinstance(each, ast.FunctionDef) and each.name == "__init__"
        ]
        try:
            if inits and self._decorators in ([], ["dataclass"]):
                return self._read(_list_arguments(inits[-1].args))
            of_fields = not inherited or (self.base and self.base.has_fields)
            if self._decorators == ["dataclass"] and inherited is not None and of_fields:
                return {**inherited, **self._read(_list_fields(self.node))}
        except ConfigError:  # who imports the class hears what is wrong with it
            return None
        return None if self._decorators else inherited

    @property
    def has_fields(self) -> bool:
        """Whether it is a dataclass, or derives from one."""
        return self._decorators == ["dataclass"] or bool(self.base and self.base.has_fields)

    @property
    def plain(self) -> bool:
        """Whether it derives from stages of ours alone, which require nothing and have no
        constructor.
        """
        return bool(self.node.bases) and all(map(self._is_ours, self.node.bases))

    @cached_property
    def base(self) -> ClassSource | None:
        """The one base class that is no stage of ours; None where there are more of them, or it is
        not found.
        """
        match [each for each in self.node.bases if not self._is_ours(each)]:
            case [ast.Name(name) | ast.Subscript(ast.Name(name))]:
                with suppress(WrongPath):
                    if (
                        found := find_class(f"{self.module}:{name}")
                    ) and found.node is not self.node:
                        return found
        return None

    @cached_property
    def _decorators(self) -> list[str]:
        return [ast.unparse(each).partition("(")[0] for each in self.node.decorator_list]

    def _is_ours(self, base: ast.expr) -> bool:
        match base:
            case ast.Subscript(ast.Name("Generic")):
                return True
            case ast.Attribute(ast.Name("convrag"), name):
                return name in _STAGES
            case ast.Name(name):
                origin = read_names(self.module).get(name)
                return (
                    isinstance(origin, tuple)
                    and origin[1] in _STAGES
                    and origin[0].partition(".")[0] == "convrag"
                )
        return False

    def _read(self, written: Iterable[_Written]) -> dict[str, Parameter]:
        parameters = {}
        for name, annotated, default in written:
            annotation = ast.unparse(annotated) if annotated else "Any"
            try:
                evaluated = eval(annotation, {"__builtins__": {}}, _KNOWN)
                known = not isinstance(evaluated, str)
            except (NameError, AttributeError, TypeError):
                known = False
            value = self._read_default(default)
            made = make_parameter(
                name, evaluated if known else Any, value, f"{self.node.name}.__init__"
            )
            parameters[name] = made if known else replace(made, known=False)
        return parameters

    def _read_default(self, default: ast.expr | None) -> Any:
        """A default's value; a name stands for the module's constant. Any other expression stays
        text.
        """
        match default:
            case None:
                return inspect.Parameter.empty
            case ast.Call(
                func=ast.Name("use") | ast.Attribute(attr="use"), args=[ast.Constant(str(option))]
            ):
                return Use(option)
            case ast.Call(func=ast.Name("Path"), args=[ast.Constant(str(path))]):
                return Path(path)
            case ast.Name(name):
                constant = read_names(self.module).get(name)
                value = _evaluate(constant) if isinstance(constant, ast.expr) else None
                return name if value is None else value
        try:
            return ast.literal_eval(default)
        except ValueError:
            return ast.unparse(default)


def _list_arguments(arguments: ast.arguments) -> list[_Written]:
    positional = [*arguments.posonlyargs, *arguments.args][1:]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + [
        *arguments.defaults
    ]
    pairs = zip(
        [*positional, *arguments.kwonlyargs], [*defaults, *arguments.kw_defaults], strict=True
    )
    return [(argument.arg, argument.annotation, default) for argument, default in pairs]


def _list_fields(node: ast.ClassDef) -> list[_Written]:
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    given = [each for each in fields if "ClassVar" not in ast.unparse(each.annotation)]
    return [(ast.unparse(each.target), each.annotation, each.value) for each in given]


def _evaluate(expression: ast.expr) -> Any:
    """The value of a literal; None for any other expression."""
    with suppress(ValueError, TypeError):
        return ast.literal_eval(expression)
    return None
