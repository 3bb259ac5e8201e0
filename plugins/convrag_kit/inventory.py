"""What is installed, as data: each option and variant with who brought it, its parameters, and whether it could run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from typing import Any, Literal

from convrag.registry.option import Option

from convrag import ConvragError, PluginError, __version__
from convrag.api.stages import GROUPS, options_group
from convrag.config.variants import Variant, variants_of
from convrag.registry import plugins
from convrag.registry.description import describe_option

State = Literal["ready", "needs", "claimed", "broken"]


@dataclass(frozen=True)
class Entry:
    """An option, or a variant of one (`extends`); `message` says what its state means, and what to do about it."""

    group: str
    name: str
    help: str
    distribution: str
    version: str
    module: str
    file: str
    state: State = "ready"
    message: str = ""
    extends: str = ""
    details: str = ""
    parameters: tuple[dict[str, Any], ...] = ()
    values: dict[str, Any] = field(default_factory=dict)


def entries(group: str) -> list[Entry]:
    """The options of a group and their variants, in alphabetical order."""
    offered = options_group(group)
    options = {name: _entry(option) for name, option in plugins.load().registry.options(offered).items()}
    extended = {each.name: each.extends for each in variants_of(offered)}
    found = {**options, **{each.name: _variant(each, options, extended) for each in variants_of(group)}}
    return [found[name] for name in sorted(found)]


def inventory(groups: list[str]) -> dict[str, Any]:
    """All of it as plain data."""
    failures = plugins.load().registry.failures
    return {
        "convrag": __version__,
        "options": [asdict(entry) for group in groups for entry in entries(group)],
        "failures": [
            {"plugin": each.plugin, "distribution": each.distribution, "message": str(each)} for each in failures
        ],
    }


def all_groups() -> list[str]:
    """The groups that have options of their own."""
    return [group for group in GROUPS if group == options_group(group)]


def _entry(option: Option) -> Entry:
    cls = option.cls
    entry = Entry(
        group=option.group,
        name=option.name,
        help=option.help,
        distribution=option.distribution,
        version=option.version,
        module=f"{cls.__module__}:{cls.__qualname__}",
        file=_file(cls),
    )
    try:
        plugins.load().registry.check_name(option.group, option.name)
        text = describe_option(option)
    except PluginError as error:
        return replace(entry, state="claimed", message=str(error))
    except ConvragError as error:
        return replace(entry, state="broken", message=str(error))
    except Exception as error:  # of whatever an annotation in somebody's signature comes to
        return replace(entry, state="broken", message=f"its signature cannot be read: {type(error).__name__}: {error}")
    absent = option.missing_extra()
    return replace(
        entry,
        details=text.details,
        parameters=tuple(asdict(parameter) for parameter in text.parameters),
        state="needs" if absent else "ready",
        message=str(absent or ""),
    )


def _variant(variant: Variant, options: Mapping[str, Entry], extended: Mapping[str, str]) -> Entry:
    """A variant takes its parameters and its state from the option at the end of what it extends."""
    base, seen = variant.extends, set[str]()
    while base not in options and base in extended and base not in seen:
        seen.add(base)
        base = extended[base]
    entry = Entry(
        group=variant.group,
        name=variant.name,
        help=variant.help,
        distribution=variant.distribution,
        version=_version(variant.distribution),
        module=variant.package,
        file=variant.file,
        extends=variant.extends,
        values=dict(variant.values),
    )
    try:
        plugins.load().registry.check_name(variant.group, variant.name)
    except PluginError as error:
        return replace(entry, state="claimed", message=str(error))
    if variant.extends and base not in options:
        return replace(entry, state="broken", message=f"it extends {variant.extends}, which does not exist")
    if base in options:
        of = options[base]
        return replace(entry, state=of.state, message=of.message, parameters=of.parameters)
    return entry


def _file(cls: type) -> str:
    try:
        return inspect.getfile(cls)
    except (TypeError, OSError):
        return ""


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
