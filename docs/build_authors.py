"""Writes the page authors.md of the site from the code.

`python docs/build_authors.py` prints it; site_hooks.py adds it to the site.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from textwrap import dedent
from typing import Any, TypeVar

import page_parts as parts

import convrag
import convrag_pytest
from convrag import testing
from convrag.api import errors, hookspecs
from convrag.api.groups import GROUPS
from convrag.api.stage import Stage
from convrag.sdk import errors as rare_errors, types as rare_types

TYPES = {
    "Conversations": "Message Passage Turn Conversation Question MemoryView",
    "Search": "Query Rewrite Hit SearchStep Candidates Ranking Selection",
    "Answers": "EvidenceItem Evidence Nugget Answer Support PassageSpan",
    "Language models": "Prompt PromptTemplate Completion",
    "Documents": "Document Heading CorpusPart",
    "Records and reports": "TurnRecord Usage Report Measurement Slice Run RunSummary",
    "Grids": "Sweep Cell",
}
"""Section -> the types in it, in the order in which a reader meets them."""

MARKS = ("hookimpl", "Register", "use", "operational", "remembered", "Store")
"""What is written into a class's signature or beside it."""

HELPERS = {
    "Texts": "text.analysis text.sentences text.citations",
    "Language models": "llm.prompts llm.rewriter llm.json_stage llm.structured_output",
    "Search": "search.corpus search.queries search.fusion search.vectors",
    "Data and output": "data.jsonl data.document_passages output.progress output.console",
    "Calls and results": "parallel lazy identity files model_files cancellation",
}
"""Subject -> the modules of convrag.sdk that plugin authors need. The others may change."""

PROGRAMS = ("Pipeline", "Conversations", "ConversationInfo", "read_run", "read_grid")
"""What programs use rather than plugins; docs/python.md has it."""


def build_page() -> str:
    """The whole page."""
    sections = {
        **{title: list(_document_types(names.split())) for title, names in TYPES.items()},
        "Stages": list(_document_stages()),
        "What a signature says": list(_document_marks()),
        "Hooks": list(_document_hooks()),
        "Errors": list(_document_errors()),
        "Helpers": list(_document_helpers()),
        "Tests": list(_document_tests()),
    }
    head = [
        "# For plugin authors",
        "Every type that a plugin is given or returns, every method that it implements, every hook, error, helper and "
        "contract. [plugins.md](plugins.md) says how they go together, [reference.md](reference.md) has the options "
        "that there are. This page is made from the code, and the tests run its examples.",
        "Names without a module are imported from `convrag`: `from convrag import Passage, Rewriter, ConfigError`. All "
        "data is immutable; change a copy: `dataclasses.replace(query, weight=0.5)`. Offsets count characters from 0, "
        "the end excluded; times are seconds, costs US dollars. A stage's parameters are given by name.",
        "\n".join(f"* [{title}](#{title.lower().replace(' ', '-')})" for title in sections),
    ]
    body = (part for title, section in sections.items() for part in (f"## {title}", *section))
    return "\n\n".join([*head, *body]) + "\n"


# Types
# -----------------------------------------------------------------------------------------------------------


def _document_types(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield f"### {name}"
        if hasattr(rare_types, name):
            yield f"`from convrag.sdk.types import {name}`"
        yield from _document_class(
            getattr(rare_types if hasattr(rare_types, name) else convrag, name)
        )


def _document_class(cls: type) -> Iterator[str]:
    """A class: what it is, its fields as a table or its constructor, its properties and methods, an
    example.
    """
    rows = list(list_fields(cls))
    if not rows:
        yield parts.format_code(parts.format_signature(cls))
    *told, last = [*parts.format_docstring(cls, arguments=not rows)] or [""]
    example = [last] if last.startswith("```pycon") else []
    yield from told if example else [*told, last]
    if rows:
        yield parts.make_table(["field", "type", "default", "what it is"], rows)
    yield from _list_members(cls)
    yield from example


def list_fields(cls: type) -> Iterator[list[str]]:
    """A row for each field of a dataclass or a named tuple. Raises LookupError for one that nothing
    is said of.
    """
    if not is_dataclass(cls) and not hasattr(cls, "_fields"):
        return
    bases = [
        each for each in reversed(cls.__mro__) if is_dataclass(each) or each is cls
    ]  # fields are inherited
    said = {
        each.arg_name: each.description or ""
        for base in bases
        for each in parts.read_docstring(base).params
    }
    written = [ast.parse(dedent(inspect.getsource(each))).body[0] for each in bases]
    classes = [each for each in written if isinstance(each, ast.ClassDef)]
    defaults = {name: value for each in classes for name, value in _read_defaults(each)}
    names = (
        [each.name for each in fields(cls)] if is_dataclass(cls) else getattr(cls, "_fields", ())
    )
    annotated = [part for each in classes for part in each.body if isinstance(part, ast.AnnAssign)]
    types = {ast.unparse(each.target): ast.unparse(each.annotation) for each in annotated}
    if unsaid := [name for name in names if name not in said]:
        raise LookupError(
            f"{cls.__module__}.{cls.__name__} does not say under Args: what {', '.join(unsaid)} is"
        )
    for name in names:
        default = f"`{defaults[name]}`" if name in defaults else "required"
        yield [
            f"`{name}`",
            f"`{parts.escape_cell(types[name])}`",
            default,
            parts.escape_cell(said[name]),
        ]


def _read_defaults(written: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for each in written.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.value:
            yield each.target.id, _show_default(each.value)


def _show_default(value: ast.expr) -> str:
    """A default as it is written; of `field(default_factory=dict)`, what the factory makes."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        given = {each.arg: each.value for each in value.keywords}
        if "default_factory" in given:
            return {"dict": "{}", "tuple": "()", "list": "[]"}[
                ast.unparse(given["default_factory"])
            ]
        return ast.unparse(given["default"])
    return ast.unparse(value)


def _list_members(cls: type) -> Iterator[str]:
    """The properties and methods of a class, a line each; methods with arguments in full."""
    lines = [
        f"* `{name}: {annotation}`: {text}" for name, annotation, text in parts.list_properties(cls)
    ]
    for _, method in parts.list_methods(cls):
        parsed = parts.read_docstring(method)
        said = [parsed.short_description, parsed.long_description]
        said += [f"`{each.arg_name}`: {each.description}" for each in parsed.params]
        said += [f"Raises {each.type_name}: {each.description}" for each in parsed.raises]
        signature = parts.flatten(parts.format_signature(method, bound=True))
        lines.append(f"* `{signature}`: {parts.flatten(' '.join(each for each in said if each))}")
    if lines:
        yield "\n".join(lines)


# Stages and hooks
# ------------------------------------------------------------------------------------------------


def _document_stages() -> Iterator[str]:
    yield (
        "A plugin subclasses one of these and implements the methods that *must* be. What is *remembered* is not "
        "computed again for the same arguments: the store has it. Where you catch `Exception`, let RunStopped through: "
        "it ends the run."
    )
    yield "### Stage"
    yield from parts.format_docstring(Stage)
    yield _list_attributes(Stage)
    yield from _document_methods(Stage)
    classes: dict[type, list[str]] = {}
    for group, cls in GROUPS.items():
        classes.setdefault(cls, []).append(f"`{group}`")
    for cls, groups in classes.items():
        yield f"### {cls.__name__}"
        yield f"Group{'s' if len(groups) > 1 else ''} {' and '.join(groups)}."
        yield from parts.format_docstring(cls)
        if attributes := _list_attributes(cls):
            yield attributes
        for name, text in [
            (name, f"`{name}: {kind}`. {text}") for name, kind, text in parts.list_properties(cls)
        ]:
            yield f"#### {cls.__name__}.{name}"
            yield text
        yield from _document_methods(cls)


def _document_methods(cls: type) -> Iterator[str]:
    for name, method in parts.list_methods(cls):
        marks = ["*Must* be implemented."] if getattr(method, "__isabstractmethod__", False) else []
        marks += ["Its results are *remembered*."] if "remembered" in vars(method) else []
        yield f"#### {cls.__name__}.{name}"
        yield parts.format_code(f"def {parts.format_signature(method)}")
        if marks:
            yield " ".join(marks)
        yield from parts.format_docstring(method)


def _list_attributes(owner: Any) -> str:
    return "\n".join(f"* `{code}`: {text}" for code, text in parts.list_attributes(owner))


def _document_marks() -> Iterator[str]:
    for name in MARKS:
        yield f"### {name}"
        if hasattr(rare_types, name):
            yield f"`from convrag.sdk.types import {name}`"
        thing = getattr(rare_types if hasattr(rare_types, name) else convrag, name)
        if name == "Register":
            yield parts.format_code(parts.format_signature(thing.__call__, "register", bound=True))
            yield from parts.format_docstring(thing.__call__)
        elif name == "Store":
            yield "A parameter annotated with `Store` is given the run's store. Of its methods, plugins need this one."
            yield parts.format_code(f"def {parts.format_signature(thing.folder)}")
            yield from parts.format_docstring(thing.folder)
        elif inspect.isfunction(thing):
            yield parts.format_code(f"def {parts.format_signature(thing)}")
            yield from parts.format_docstring(thing)
        else:
            yield _MARKED[name]


_MARKED = {
    "hookimpl": "Marks a function of a plugin's module as one of its hooks, as pluggy's markers do: `@hookimpl`, "
    "`@hookimpl(tryfirst=True)`, `@hookimpl(wrapper=True)`, `@hookimpl(specname=...)`.",
    "operational": "Marks a parameter that cannot change results, and so is no part of the fingerprint: "
    "`batch_size: Annotated[int, operational] = 32`.",
}


def _document_hooks() -> Iterator[str]:
    yield (
        "A plugin's entry point is a module (or object) with functions marked `@hookimpl`. A hook takes those of its "
        "arguments that it names. What it raises costs one warning, and the run goes on."
    )
    for name, hook in vars(hookspecs).items():
        if name.startswith("convrag_"):
            yield f"### {name}"
            yield parts.format_code(f"def {parts.format_signature(hook)}")
            yield from parts.format_docstring(hook)


# Errors, helpers, tests
# --------------------------------------------------------------------------------------------


def _document_errors() -> Iterator[str]:
    yield (
        "Raise the class that fits, with a message that names the file, line, option or parameter and says what to do. "
        "The command prints it without a traceback, and ends with status 2."
    )
    for name, cls in vars(errors).items():
        if inspect.isclass(cls) and issubclass(cls, Exception):
            yield f"### {name}"
            if hasattr(rare_errors, name):
                yield f"`from convrag.sdk.errors import {name}`"
            base = cls.__bases__[0].__name__
            yield parts.format_code(
                parts.format_signature(cls) if "__init__" in vars(cls) else f"{name}(message: str)"
            )
            yield from parts.format_docstring(cls)
            yield f"A subclass of {base}."


def _document_helpers() -> Iterator[str]:
    yield (
        "Modules of `convrag.sdk`, imported by name: `from convrag.sdk.text.citations import find_citations`. These "
        "modules are public. The rest of `convrag.sdk` is convrag's own, and may change."
    )
    for subject, names in HELPERS.items():
        yield f"**{subject}**"
        for name in names.split():
            module = import_module(f"convrag.sdk.{name}")
            yield from _document_module(module, list_public_names(module))


def list_public_names(module: Any) -> list[str]:
    """The names in a module's `__all__`, else those that it defines or hands on."""
    if listed := getattr(module, "__all__", None):
        return list(listed)
    body = ast.parse(inspect.getsource(module)).body
    assigned = [each for node in body if isinstance(node, ast.Assign) for each in node.targets]
    defined = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    imported = [each for node in body if isinstance(node, ast.ImportFrom) for each in node.names]
    handed_on = [each.name for each in imported if each.asname == each.name]
    names = {*defined, *handed_on, *(each.id for each in assigned if isinstance(each, ast.Name))}
    public = [
        name
        for name in names
        if not name.startswith("_") and not isinstance(getattr(module, name), TypeVar)
    ]
    return sorted(public, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def _document_module(module: Any, public: Iterable[str]) -> Iterator[str]:
    yield f"### {module.__name__}"
    yield parts.flatten((inspect.getdoc(module) or "").split("\n\n")[0])
    yield from _document_public(module, public)


def _document_public(module: Any, names: Iterable[str]) -> Iterator[str]:
    """Functions, classes and constants of a module; of what it takes from another room, the
    docstrings alone.
    """
    constants = _list_constants(module)
    for name in names:
        thing = getattr(module, name)
        yield f"#### {name}"
        if name in constants:
            yield f"`{constants[name][0]}`: {constants[name][1]}"
        elif not callable(thing):
            yield f"`{name} = {thing!r}`"
        elif not inspect.isclass(thing):
            yield parts.format_code(f"def {parts.format_signature(inspect.unwrap(thing))}")
            yield from parts.format_docstring(thing)
        elif thing.__name__ in " ".join(TYPES.values()).split():
            yield f"See [{name}](#{name.lower()})."
        elif thing.__module__ != module.__name__:  # a door to another room
            yield from parts.format_docstring(thing)
            yield _list_attributes(thing) or "\n".join(_list_members(thing))
        else:
            yield from _document_class(thing)


def _list_constants(module: Any) -> dict[str, tuple[str, str]]:
    """The constants of a module, and of those that it takes names from: name -> its line, and what
    is said of it.
    """
    written = ast.parse(inspect.getsource(module)).body
    sources = [
        each.module
        for each in written
        if isinstance(each, ast.ImportFrom) and each.module != "__future__"
    ]
    owners = [import_module(str(name)) for name in sources if str(name).startswith("convrag.")]
    found = [attribute for owner in (*owners, module) for attribute in parts.list_attributes(owner)]
    return {code.split()[0].rstrip(":"): (code, text) for code, text in found}


def _list_modules(package: Any) -> list[str]:
    """The modules of a package, in the order of the map in its docstring."""
    lines = (inspect.getdoc(package) or "").splitlines()
    return [line.split("`")[1] for line in lines if line.startswith("* `")]


def _document_tests() -> Iterator[str]:
    yield (
        "Names of `convrag.testing`. A test class subclasses the contract of its stage and says how to make the stage; "
        "pytest runs the rest. [plugins.md](plugins.md#tests) has an example."
    )
    classes = [
        each for each in map(vars(testing).get, list_public_names(testing)) if inspect.isclass(each)
    ]
    for cls in sorted(classes, key=_rank_test_class):
        yield f"### {cls.__name__}"
        if not cls.__name__.endswith("Contract"):
            yield from _document_class(cls)
            continue
        yield from parts.format_docstring(cls)
        yield from _document_contract(cls)
    for name in list_public_names(testing):
        if inspect.isfunction(function := getattr(testing, name)):
            yield f"### {name}"
            yield parts.format_code(f"def {parts.format_signature(function)}")
            yield from parts.format_docstring(function)
    yield "### Fixtures"
    yield "They are there in every pytest where convrag is installed."
    yield parts.make_table(["fixture", "type", "what it is"], list(_list_fixtures()))


def _rank_test_class(cls: type) -> tuple[bool, int]:
    """The contracts first, those that others extend before these."""
    return not cls.__name__.endswith("Contract"), len(cls.__mro__)


def _document_contract(cls: type) -> Iterator[str]:
    """What a test class may say, and what is checked. The contract of all stages has what is common
    to them.
    """
    owners = [each for each in cls.__mro__ if each is cls or each.__name__.startswith("_")]
    attributes = [line for owner in owners if (line := _list_attributes(owner))]
    methods = [(name, method) for owner in owners for name, method in parts.list_methods(owner)]
    lines = [
        f"* `{parts.flatten(parts.format_signature(method, bound=True))}`: {parts.flatten(method.__doc__)}"
        for name, method in methods
        if not name.startswith("test_")
        and method.__doc__  # those of the contracts above are not repeated
    ]
    if attributes or lines:
        yield "\n".join([*attributes, *lines])
    tests = [
        name.removeprefix("test_").replace("_", " ")
        for name, _ in methods
        if name.startswith("test_")
    ]
    if tests:
        yield "Checks that:"
        yield "\n".join(f"* {test}" for test in tests)


def _list_fixtures() -> Iterator[list[str]]:
    for node in ast.parse(inspect.getsource(convrag_pytest)).body:
        if isinstance(node, ast.FunctionDef) and node.returns:
            said = parts.flatten(ast.get_docstring(node) or "")
            yield [f"`{node.name}`", f"`{ast.unparse(node.returns)}`", parts.escape_cell(said)]


if __name__ == "__main__":
    sys.stdout.write(build_page())
