"""Writes docs/reference.md from the code: `python docs/build_reference.py`. A test fails where it is out of date."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from docstring_parser import parse

from convrag import hookspecs, plugins
from convrag.config import variants
from convrag.options import Option, Parameter, Use
from convrag.settings import Settings
from convrag.stages import GROUPS, options_group

PATH = Path(__file__).with_name("reference.md")


def reference() -> str:
    """The whole page."""
    parts = [
        "# Reference",
        "Made from the code by `python docs/build_reference.py`. A parameter is set with `<group>.<parameter>=value`; "
        "a stage that another one needs is the run's own, or is given with `+<group>@<place>=<option>`.",
        "## Settings",
        *_settings(),
        "## Stages and their options",
        *(part for group in GROUPS for part in _group(group)),
        "## Hooks",
        "A plugin's entry point is a module (or object) with functions marked `@convrag.hookimpl`.",
        *_hooks(),
    ]
    return "\n\n".join(parts) + "\n"


def _settings() -> Iterator[str]:
    rows = list(_setting_rows(Settings))
    yield _table(["key", "default", "what it does"], rows)


def _setting_rows(settings: Any, prefix: str = "") -> Iterator[list[str]]:
    for field in fields(settings):
        if is_dataclass(field.default_factory):
            yield from _setting_rows(field.default_factory, f"{prefix}{field.name}.")
        else:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            yield [f"`{prefix}{field.name}`", _default(default), field.metadata["help"]]


def _group(group: str) -> Iterator[str]:
    yield f"### `{group}`"
    if group != options_group(group):
        yield f"The options of `{options_group(group)}`, applied to the retrieved passages."
        return
    cls = GROUPS[group]
    yield inspect.cleandoc(cls.__doc__ or "")
    for name, member in vars(cls).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            parameters = ", ".join(list(inspect.signature(member).parameters)[1:])
            yield f"`{name}({parameters})`: {_flat(inspect.getdoc(member) or '')}"
    for name, option in plugins.load().registry.options(group).items():
        if option.distribution == plugins.FIRST_PARTY:
            yield from _option(name, option)
    if named := variants(group):
        yield _table(["variant", "what it is"], [[f"`{group}={name}`", text] for name, text in named.items()])


def _option(name: str, option: Option) -> Iterator[str]:
    parsed = parse(inspect.getdoc(option.cls) or "")
    yield f"#### `{option.group}={name}`"
    yield "\n\n".join(part for part in (parsed.short_description, parsed.long_description) if part)
    told = {item.arg_name: _flat(item.description or "") for item in parsed.params}
    rows = [
        [f"`{parameter.name}`", _type(parameter), _parameter_default(parameter), told.get(parameter.name, "")]
        for parameter in option.parameters.values()
        if not parameter.injects_store
    ]
    if rows:
        yield _table(["parameter", "type", "default", "what it does"], rows)


def _hooks() -> Iterator[str]:
    for name, hook in vars(hookspecs).items():
        if name.startswith("convrag_"):
            parsed = parse(inspect.getdoc(hook) or "")
            yield f"### `{name}({', '.join(inspect.signature(hook).parameters)})`"
            yield "\n\n".join(part for part in (parsed.short_description, parsed.long_description) if part)
            told = [f"* `{item.arg_name}`: {_flat(item.description or '')}" for item in parsed.params]
            if told:
                yield "\n".join(told)


def _type(parameter: Parameter) -> str:
    if parameter.group:
        return f"{parameter.group} stage"
    annotation = parameter.type
    if get_origin(annotation) is Literal:
        return " \\| ".join(f"`{choice}`" for choice in get_args(annotation))
    name = annotation.__name__ if inspect.isclass(annotation) and not get_args(annotation) else str(annotation)
    return re.sub(r"\b(?:\w+\.)+", "", name).replace("|", "\\|")


def _parameter_default(parameter: Parameter) -> str:
    if isinstance(parameter.default, Use):
        return f"`{parameter.default.option}`"
    if parameter.group:
        return "none" if parameter.default is None else "the run's"
    return "required" if parameter.required else _default(parameter.default)


def _default(value: Any) -> str:
    return f"`{value}`"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _table(heading: list[str], rows: list[list[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PATH.write_text(reference(), encoding="utf-8")
