"""Parts of the generated pages, docs/reference.md and docs/authors.md: tables, signatures,
docstrings as Markdown.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import Any

from docstring_parser import Docstring, DocstringStyle, parse

_WIDEST = 100
"""Characters of a signature on one line."""


def make_table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in GitHub's Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def flatten(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def escape_cell(text: str) -> str:
    """A text for a cell of a table."""
    return flatten(text).replace("|", "\\|")


def read_docstring(documented: object) -> Docstring:
    """The parts of a docstring in Google's style."""
    return parse(inspect.getdoc(documented) or "", DocstringStyle.GOOGLE)


def format_docstring(documented: object, *, arguments: bool = True) -> Iterator[str]:
    """A docstring as Markdown: what it says, then arguments, results and errors as lists, then
    examples.

    Args:
        documented: a class or a function.
        arguments: whether the arguments are shown; not where a table has them.
    """
    parsed = read_docstring(documented)
    for text in (parsed.short_description, parsed.long_description):
        if text:
            yield _format_text(text)
    listed = [
        f"* `{each.arg_name}`: {flatten(each.description or '')}"
        for each in parsed.params
        if arguments
    ]
    if parsed.returns and parsed.returns.description:
        listed.append(
            f"* returns: {_format_returns(parsed.returns.type_name, parsed.returns.description)}"
        )
    listed += [
        f"* raises `{each.type_name}`: {flatten(each.description or '')}" for each in parsed.raises
    ]
    if listed:
        yield "\n".join(listed)
    for example in parsed.examples:
        if example.description:
            yield format_code(dedent(example.description).strip(), "pycon")


def _format_text(text: str) -> str:
    """A text as Markdown: paragraphs on a line each, indented blocks as code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        is_code = all(line.startswith("    ") for line in paragraph.splitlines())
        parts.append(format_code(dedent(paragraph), "text") if is_code else flatten(paragraph))
    return "\n\n".join(parts)


def _format_returns(name: str | None, description: str) -> str:
    """docstring_parser takes a text before a colon for a type: "Id -> score, in order: ..."."""
    return flatten(f"{name}: {description}" if name else description)


def format_code(code: str, language: str = "python") -> str:
    """A block of code."""
    return f"```{language}\n{code}\n```"


class _Written:
    """An annotation or a default as it is written in the source: `repr` of a text would put it in quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def format_signature(function: Callable[..., Any], name: str = "", *, bound: bool = False) -> str:
    """The signature of a function or a class, on several lines where it is long: "rank(query: str,
    *, k: int = 5)".

    Args:
        function: the function, or the class.
        name: in place of its own.
        bound: whether the first parameter is left out, which is the object's.
    """
    signature = inspect.signature(function)
    parameters = [
        each
        for each in signature.parameters.values()
        if not (bound and each.name in ("self", "cls"))
    ]
    names = getattr(function, "__globals__", {})
    written = read_annotations(function)
    shown = [
        each.replace(
            annotation=_show(each.annotation, written.get(each.name)),
            default=_show_default(each, names),
        )
        for each in parameters
    ]
    is_class = inspect.isclass(function)
    result = (
        inspect.Signature.empty
        if is_class
        else _show(signature.return_annotation, written.get("return"))
    )
    text = f"{name or function.__name__}{signature.replace(parameters=shown, return_annotation=result)}"
    if len(text) <= _WIDEST:
        return text
    lines = _break_parameters(
        signature.replace(parameters=shown, return_annotation=inspect.Signature.empty)
    )
    ending = "" if result is inspect.Signature.empty else f" -> {result!r}"
    return "\n".join([f"{name or function.__name__}(", *lines, f"){ending}"])


def _break_parameters(signature: inspect.Signature) -> list[str]:
    """The parameters on a line each, with the signs between them."""
    lines: list[str] = []
    before: Any = None
    for parameter in signature.parameters.values():
        if before is parameter.POSITIONAL_ONLY is not parameter.kind:
            lines.append("    /,")
        if parameter.kind is parameter.KEYWORD_ONLY and before not in (
            parameter.KEYWORD_ONLY,
            parameter.VAR_POSITIONAL,
        ):
            lines.append("    *,")
        lines.append(f"    {parameter},")
        before = parameter.kind
    return lines


def read_annotations(function: Callable[..., Any]) -> dict[str, str]:
    """Parameter, or "return", -> its annotation as the source has it; of a class its constructor's,
    or its fields.
    """
    found: dict[str, str] = {}
    for owner in (
        reversed(function.__mro__[:-1]) if inspect.isclass(function) else [inspect.unwrap(function)]
    ):
        try:
            tree = ast.parse(dedent(inspect.getsource(owner)))
        except (OSError, TypeError, SyntaxError):  # no Python source: a builtin
            continue
        statement = tree.body[0]
        is_field = isinstance(statement, ast.ClassDef)
        for node in [statement, *(statement.body if isinstance(statement, ast.ClassDef) else [])]:
            if isinstance(node, ast.AnnAssign):
                found[ast.unparse(node.target)] = ast.unparse(node.annotation)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
                not is_field or node.name == "__init__"
            ):
                written = [
                    each
                    for each in ast.walk(node.args)
                    if isinstance(each, ast.arg) and each.annotation
                ]
                found |= {
                    each.arg: ast.unparse(each.annotation) for each in written if each.annotation
                }
                found |= {"return": ast.unparse(node.returns)} if node.returns else {}
    return found


def _show(annotation: Any, written: str | None) -> Any:
    """An annotation as it is written: names without their modules."""
    if annotation is inspect.Parameter.empty:
        return annotation
    return _Written(written.strip("'\"") if written else inspect.formatannotation(annotation))


def _show_default(parameter: inspect.Parameter, names: Mapping[str, Any]) -> Any:
    default = parameter.default
    if default is parameter.empty:
        return default
    if isinstance(
        default, frozenset
    ):  # each process has another order of its items; the module has a name for it
        return _Written(
            next((name for name, value in names.items() if value is default), "frozenset(...)")
        )
    if repr(default) == "<factory>":
        return _Written(
            "{}"
            if "Mapping" in str(parameter.annotation) or "dict" in str(parameter.annotation)
            else "()"
        )
    return _Written(default.__name__) if inspect.isclass(default) else default


def list_methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods that a class itself defines, class methods included, in their order."""
    for name, member in vars(cls).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(function) and not name.startswith("_"):
            yield name, function


def list_properties(cls: type) -> Iterator[tuple[str, str, str]]:
    """The name, the type and the docstring of the properties that a class itself defines."""
    for name, member in vars(cls).items():
        if isinstance(member, property) and not name.startswith("_"):
            assert member.fget is not None
            yield (
                name,
                read_annotations(member.fget)["return"],
                flatten(inspect.getdoc(member) or ""),
            )


def list_attributes(owner: Any) -> Iterator[tuple[str, str]]:
    """The attributes of a class, or the constants of a module, that have a docstring below: code
    and what it says.
    """
    tree = ast.parse(dedent(inspect.getsource(owner)))
    body = tree.body[0].body if inspect.isclass(owner) else tree.body  # type: ignore[attr-defined]
    for statement, following in pairwise(body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_text(following):
            yield ast.unparse(statement), flatten(following.value.value)


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
