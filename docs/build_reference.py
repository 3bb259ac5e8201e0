"""Writes the page reference.md of the site from the code.

`python docs/build_reference.py` prints it; site_hooks.py adds it to the site.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from docstring_parser import parse
from page_parts import flatten, make_table

from convrag.api import hookspecs
from convrag.api.groups import GROUPS, options_group
from convrag.api.stage import Stage
from convrag.config.settings import PRESETS, Settings
from convrag.config.variants import variants, variants_of
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.option_text import describe_option
from convrag.registry.parameters import read_argument_texts


def reference() -> str:
    """The whole page."""
    parts = [
        "# Reference",
        "This page is made from the code. A parameter is set with `<group>.<parameter>=value`; "
        "a stage that another one needs is the run's own, or is chosen at its place: `rewriter.embedder=minilm`.",
        "## All options",
        *_overview(),
        "## Settings",
        *_settings(),
        "## Stages and their options",
        *_methods(Stage),
        *(part for group in GROUPS for part in _group(group)),
        "## Presets",
        *_presets(),
        "## Hooks",
        "A plugin's entry point is a module (or object) with functions marked `@convrag.hookimpl`.",
        *_hooks(),
    ]
    return "\n\n".join(parts) + "\n"


def _overview() -> Iterator[str]:
    """A row for each group, with the names of its options."""
    rows = []
    for group in GROUPS:
        if group == options_group(group):
            options = plugins.load().registry.options(group).items()
            ours = [name for name, option in options if option.distribution == plugins.FIRST_PARTY]
            names = ", ".join(f"`{name}`" for name in sorted([*ours, *variants(group)]))
            rows.append([f"[`{group}`](#{group})", names])
    yield make_table(["group", "options"], rows)


def _settings() -> Iterator[str]:
    rows = list(_setting_rows(Settings))
    yield make_table(["key", "default", "what it does"], rows)


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
    yield from _methods(cls)
    for name, option in plugins.load().registry.options(group).items():
        if option.distribution == plugins.FIRST_PARTY:
            yield from _option(name, option)
    own = [each for each in variants_of(group) if each.distribution == plugins.FIRST_PARTY]
    if rows := [[f"`{group}={each.name}`", f"`{each.extends}`", each.help] for each in own]:
        yield make_table(["variant", "of", "what it is"], rows)


def _methods(cls: type[Stage]) -> Iterator[str]:
    for name, member in vars(cls).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            parameters = ", ".join(list(inspect.signature(member).parameters)[1:])
            yield f"`{name}({parameters})`: {flatten(inspect.getdoc(member) or '')}"


def _presets() -> Iterator[str]:
    yield "They choose options of several groups, with a plus: `+system=mmr`. What the command line says goes before."
    own = [
        each
        for group in PRESETS
        for each in variants_of(group)
        if each.distribution == plugins.FIRST_PARTY
    ]
    yield make_table(
        ["preset", "what it is"], [[f"`+{each.group}={each.name}`", each.help] for each in own]
    )


def _option(name: str, option: Option) -> Iterator[str]:
    text = describe_option(option)
    yield f"#### `{option.group}={name}`"
    yield "\n\n".join(part for part in (text.summary, text.details) if part)
    rows = [
        [f"`{each.name}`", each.type.replace("|", "\\|"), _shown(each.default), each.help]
        for each in text.parameters
    ]
    if rows:
        yield make_table(["parameter", "type", "default", "what it does"], rows)


def _hooks() -> Iterator[str]:
    for name, hook in vars(hookspecs).items():
        if name.startswith("convrag_"):
            parsed = parse(inspect.getdoc(hook) or "")
            yield f"### `{name}({', '.join(inspect.signature(hook).parameters)})`"
            yield "\n\n".join(
                part for part in (parsed.short_description, parsed.long_description) if part
            )
            told = [f"* `{name}`: {text}" for name, text in read_argument_texts(hook).items()]
            if told:
                yield "\n".join(told)


def _shown(default: str) -> str:
    """A value as code; what is said in words stays words."""
    return default if default in {"required", "the run's", "none"} else f"`{default}`"


def _default(value: Any) -> str:
    return f"`{value}`"


if __name__ == "__main__":
    sys.stdout.write(reference())
