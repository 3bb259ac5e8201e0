"""Classes as their source has them: found and read without importing their module.

A plugin registers "acme.rewriter:TopicRewriter"; help, `requires` and parameters are read from the text of that class.
Where the text does not say it plainly, the answer is None, and the caller imports the class.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import typing
from collections import abc
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, resolve_name
from pathlib import Path
from textwrap import dedent
from typing import Any

from convrag.api.deprecation import Deprecated
from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS
from convrag.api.stage import Stage
from convrag.registry.parameters import Parameter, Use, make_parameter, operational

_LONGEST_CHAIN = 8
"""How many re-exports and base classes are followed, one after the other."""

_HEADER = re.compile(
    r"^class[ \t]+(?P<name>\w+)[ \t]*(?:\((?P<bases>[^()]*)\))?[ \t]*:[ \t]*(?:#[^\n]*)?$", re.MULTILINE
)
_IMPORT = re.compile(r"^from[ \t]+([\w.]+)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n#]*))", re.MULTILINE)
_STATEMENT = re.compile(r"^(?:class |def |async def |@)", re.MULTILINE)
_DOCSTRING = re.compile(r'\s*[rR]?(?:"""(.*?)"""|"([^"\n]*)"|\'\'\'(.*?)\'\'\')[ \t]*(?:#[^\n]*)?(?:\n|$)', re.DOTALL)
_END_OF_HEADER = re.compile(r":[ \t]*(?:\.\.\.)?[ \t]*(?:#[^\n]*)?$", re.MULTILINE)


def _name_limit(*_: float, **__: float) -> None:
    """Stand for the limits of annotated-types, which take long to import; who reads the source needs none."""


_STAGES: Mapping[str, type[Stage]] = {"Stage": Stage} | {stage.__name__: stage for stage in GROUPS.values()}
_KNOWN: dict[str, Any] = (
    {cls.__name__: cls for cls in (bool, int, float, str, bytes, object, list, tuple, dict, set, frozenset, Path)}
    | {name: getattr(typing, name) for name in ("Any", "Literal", "Annotated", "Optional", "Union")}
    | {name: getattr(abc, name) for name in ("Sequence", "Iterable", "Collection", "Mapping")}
    | {"convrag": sys.modules["convrag"], "typing": typing, "operational": operational, "Deprecated": Deprecated}
    | {"Store": type("Store", (), {"__module__": "convrag.store.store"})}  # to import the store takes long
    | dict.fromkeys(("Ge", "Gt", "Le", "Lt", "Interval"), _name_limit)
    | {**_STAGES}
)
"""What an annotation may consist of so that nobody need import it."""


class WrongPath(Exception):
    """There is no such module, or no such class in it."""


def is_imported(path: str) -> bool:
    """Whether the class that a path names is there already."""
    module, _, name = path.partition(":")
    return hasattr(sys.modules.get(module), name)


def find_module(name: str) -> ModuleSpec | None:
    """Where a module lies; None where there is none. Of a dotted name nothing is imported, the packages included."""
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
        spec = next((found for finder in finders if (found := finder.find_spec(dotted, path))), None)
    return spec


@cache
def read_module(name: str) -> str | None:
    """The text of a module; None where it has none (a compiled one, a package without `__init__.py`).

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


@cache
def find_class(target: str) -> ClassSource | None:
    """The class that "package.module:Class" names; None where its text does not say where the class comes from.

    Raises:
        WrongPath: there is no such module, or the name does not occur in it.
    """
    module, _, name = target.partition(":")
    if not name.isidentifier():
        raise WrongPath('a path is written "package.module:Class"')
    for _ in range(_LONGEST_CHAIN):
        text = read_module(module)
        if text is None:
            return None
        if found := _find_headers(text).get(name):
            return ClassSource(module, name, text, found)
        origin = _imported_from(text, module, name)
        if origin is None:
            if re.search(rf"\b{name}\b|\b__getattr__\b|\bimport \*|\bglobals\(\)", text):
                return None
            raise WrongPath(f"{module} has no class {name}")
        module, name = origin
    return None


@dataclass(frozen=True)
class ClassSource:
    """The text of a class, and where it stands in the text of its module."""

    module: str
    name: str
    text: str
    header: re.Match[str]

    @property
    def file(self) -> str:
        """The file of the module."""
        spec = find_module(self.module)
        return str(spec.origin) if spec and spec.origin else ""

    @cached_property
    def body(self) -> str:
        """The text below the header, up to the next class or function of the module."""
        end = _STATEMENT.search(self.text, self.header.end())
        return self.text[self.header.end() : end.start() if end else len(self.text)]

    @property
    def decorated(self) -> bool:
        """Whether a decorator stands above it, which may change everything (a dataclass has another constructor)."""
        above = self.text[: self.header.start()].removesuffix("\n").rpartition("\n")[2]
        return above.startswith(("@", ")", " "))

    @cached_property
    def summary(self) -> str | None:
        """The first line of the docstring."""
        found = _DOCSTRING.match(self.body)
        if not found:
            return None
        text = next(group for group in found.groups() if group is not None)
        if "\\" in text:
            text = ast.literal_eval(found[0].strip())
        return inspect.cleandoc(text).partition("\n")[0]

    @cached_property
    def requires(self) -> Mapping[str, str] | None:
        """What the class says in `requires`, or inherits, where that is a literal."""
        if self.decorated:
            return None
        if found := self.search(r"requires\b[^=\n]*=[ \t]*"):
            value = _read_literal(self.body[found.end() :])
            return value if isinstance(value, dict) else None
        if self.plain:
            return {}
        return self.base.requires if self.base else None

    @cached_property
    def parameters(self) -> Mapping[str, Parameter] | None:
        """The constructor's parameters by name, inherited ones too; None where the source does not say them plainly."""
        if self.decorated:
            return None
        start = self.search(r"def __init__\(")
        if start is None:
            return self.base.parameters if self.base else {} if self.plain else None
        function = _parse_function(self.body[start.start() :])
        try:
            return self._read_arguments(function.args) if function else None
        except ConfigError:  # who imports the class hears what is wrong with it
            return None

    @cached_property
    def plain(self) -> bool:
        """Whether it derives from a stage of ours alone, which requires nothing and has no constructor."""
        if len(self._base_names) != 1:
            return False
        name = self._base_names[0]
        if name.startswith("convrag."):
            return name.removeprefix("convrag.") in _STAGES
        module, name = _imported_from(self.text, self.module, name) or ("", "")
        return name in _STAGES and module.partition(".")[0] == "convrag"

    @cached_property
    def base(self) -> ClassSource | None:
        """The one base class that is no stage of ours; None where there are more of them, or it is not found."""
        if len(self._base_names) != 1 or self.plain or not self._base_names[0].isidentifier():
            return None
        name = self._base_names[0]
        module, name = _imported_from(self.text, self.module, name) or (self.module, name)
        try:
            found = find_class(f"{module}:{name}")
        except WrongPath:
            return None
        return None if found is None or found.header is self.header else found

    def search(self, pattern: str) -> re.Match[str] | None:
        """Find what stands at the beginning of a line of the class's own level."""
        indent = re.search(r"^[ \t]+(?=\S)", self.body, re.MULTILINE)
        return re.search(f"^{indent[0]}{pattern}", self.body, re.MULTILINE) if indent else None

    @cached_property
    def _base_names(self) -> list[str]:
        """The base classes as they are written, without keywords."""
        return [each.strip() for each in (self.header["bases"] or "").split(",") if each.strip() and "=" not in each]

    def _read_arguments(self, arguments: ast.arguments) -> dict[str, Parameter]:
        positional = [*arguments.posonlyargs, *arguments.args][1:]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
        pairs = [*zip(positional, defaults, strict=False)]
        pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        parameters = {}
        for argument, default in pairs:
            annotation = ast.unparse(argument.annotation) if argument.annotation else "Any"
            try:
                evaluated = eval(annotation, {"__builtins__": {}}, _KNOWN)
                known = not isinstance(evaluated, str)
            except (NameError, AttributeError, TypeError):
                known = False
            value = self._read_default(default)
            made = make_parameter(argument.arg, evaluated if known else Any, value, f"{self.name}.__init__")
            parameters[argument.arg] = made if known else replace(made, known=False)
        return parameters

    def _read_default(self, default: ast.expr | None) -> Any:
        """A default's value; of a name, that of the module's constant. An expression stays the text that it is."""
        match default:
            case None:
                return inspect.Parameter.empty
            case ast.Call(func=ast.Name("use") | ast.Attribute(attr="use"), args=[ast.Constant(str(option))]):
                return Use(option)
            case ast.Call(func=ast.Name("Path"), args=[ast.Constant(str(path))]):
                return Path(path)
            case ast.Name(name) if found := re.search(rf"^{name}\b[^=\n]*=[ \t]*", self.text, re.MULTILINE):
                constant = _read_literal(self.text[found.end() :])
                return name if constant is None else constant
        try:
            return ast.literal_eval(default)
        except ValueError:
            return ast.unparse(default)


@cache
def _find_headers(text: str) -> Mapping[str, re.Match[str]]:
    """Class -> its header, for all classes of a module."""
    headers: dict[str, re.Match[str]] = {}
    for found in _HEADER.finditer(text):
        headers.setdefault(found["name"], found)
    return headers


def _imported_from(text: str, module: str, name: str) -> tuple[str, str] | None:
    """The module and the name that `from module import ...` takes a name from."""
    if not re.search(rf"\b{name}\b", text):
        return None
    for found in _IMPORT.finditer(text):
        for item in re.sub(r"#[^\n]*", "", found[2] or found[3] or "").split(","):
            words = item.split()
            if words and words[-1] == name and len(words) in (1, 3):
                spec = find_module(module) if found[1].startswith(".") else None
                inside = spec is not None and spec.submodule_search_locations is not None
                return resolve_name(found[1], module if inside else module.rpartition(".")[0]), words[0]
    return None


def _parse_function(text: str) -> ast.FunctionDef | None:
    """The header of a function that a text begins with: it ends at a colon at the end of a line."""
    for end in list(_END_OF_HEADER.finditer(text))[:60]:
        try:
            (function,) = ast.parse(dedent(f"{text[: end.start()]}: ...")).body
        except SyntaxError:
            continue
        return function if isinstance(function, ast.FunctionDef) else None
    return None


def _read_literal(text: str) -> Any:
    """The literal that a text begins with: a bracketed one, or one on a line; None where it is an expression."""
    closing = {"{": "}", "[": "]", "(": ")"}.get(text[:1])
    ends = [found.end() for found in re.finditer(re.escape(closing) if closing else r"$", text, re.MULTILINE)]
    for end in ends[:20] if closing else ends[:1]:
        try:
            return ast.literal_eval(text[:end])
        except (SyntaxError, ValueError):
            continue
    return None
