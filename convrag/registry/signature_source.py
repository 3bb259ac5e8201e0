"""The parameters of a class's constructor as its source has them, for a help text that imports no stage."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from convrag.api.groups import GROUPS, options_group
from convrag.registry.class_source import ClassSource
from convrag.registry.module_source import read_literal

_WORD = re.compile(r"\w+")
_TYPES = (
    "bool int float str bytes object list tuple dict set frozenset Path Any Literal Annotated Optional Union Sequence "
    "Iterable Collection Mapping convrag typing operational Deprecated Store"
)
_KNOWN = frozenset([*_TYPES.split(), *(stage.__name__ for stage in GROUPS.values())])
"""What an annotation may consist of so that nobody need import it."""


@dataclass(frozen=True)
class SourceParameter:
    """One parameter as it is written.

    `default` is None where it has none; for a constant of the module, it is what the constant is.
    """

    name: str
    annotation: str
    default: str | None

    @property
    def is_plain(self) -> bool:
        """Whether the annotation consists of well-known names, so that nobody need import it to know what it is."""
        if self.annotation.startswith(("'", '"')):
            return False
        nodes = ast.walk(ast.parse(self.annotation or "None"))
        return all(each.id in _KNOWN for each in nodes if isinstance(each, ast.Name))

    @property
    def injects_store(self) -> bool:
        """Whether the parameter is given the store."""
        return "Store" in {member.strip().rpartition(".")[2] for member in self.annotation.split("|")}

    @property
    def group(self) -> str:
        """The group of an injected stage; empty for a value."""
        named = set(_WORD.findall(self.annotation))
        groups = [group for group, stage in GROUPS.items() if stage.__name__ in named]
        return self.name if self.name in groups else options_group(groups[0]) if groups else ""

    @property
    def used_option(self) -> str:
        """The option that an injected stage has by default, as in `use("kmeans")`; empty where it has none."""
        found = re.fullmatch(r"(?:\w+\.)?use\((['\"])([^'\"]+)\1\)", self.default or "")
        return found[2] if found else ""

    @property
    def is_of_run(self) -> bool:
        """Whether the parameter is given the run's stage, unless it is given one of its own."""
        return bool(self.group) and not self.used_option and self.default != "None"

    def read_default(self) -> Any:
        """The default as a plain value; "???" where it has none. An expression stays the text that it is."""
        if self.default is None:
            return "???"
        try:
            return ast.literal_eval(self.default)
        except (ValueError, SyntaxError):
            path = re.fullmatch(r"Path\((['\"])(.*)\1\)", self.default)
            return path[2] if path else self.default


def read_signature(source: ClassSource) -> Mapping[str, SourceParameter] | None:
    """The constructor's parameters by name, inherited ones too; None where the source does not say them plainly."""
    if source.decorated:
        return None
    start = source.search(r"def __init__\(")
    if start is None:
        return read_signature(source.bases[0]) if source.bases else {} if source.plain else None
    function = _parse_function(source.body[start.start() :])
    return _read_arguments(function.args, source) if function else None


def _parse_function(text: str) -> ast.FunctionDef | None:
    """The header of a function that a text begins with: it ends at a colon at the end of a line."""
    for end in list(re.finditer(r":[ \t]*(?:\.\.\.)?[ \t]*(?:#[^\n]*)?$", text, re.MULTILINE))[:60]:
        try:
            (function,) = ast.parse(dedent(f"{text[: end.start()]}: ...")).body
        except SyntaxError:
            continue
        return function if isinstance(function, ast.FunctionDef) else None
    return None


def _read_arguments(arguments: ast.arguments, source: ClassSource) -> dict[str, SourceParameter]:
    positional = [*arguments.posonlyargs, *arguments.args][1:]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
    pairs = [*zip(positional, defaults, strict=False)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {
        each.arg: SourceParameter(
            each.arg,
            ast.unparse(each.annotation) if each.annotation else "",
            _read_default(default, source) if default is not None else None,
        )
        for each, default in pairs
    }


def _read_default(default: ast.expr, source: ClassSource) -> str:
    """A default as text."""
    if isinstance(default, ast.Name):
        found = re.search(rf"^{default.id}\b[^=\n]*=[ \t]*", source.text, re.MULTILINE)
        constant = read_literal(source.text[found.end() :]) if found else None
        return default.id if constant is None else repr(constant)
    return ast.unparse(default)
