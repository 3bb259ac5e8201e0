"""The installed options and variants as data: origin, parameters, and whether each is ready."""

from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from typing import Any, Literal

from convrag import ConvragError, __version__
from convrag.sdk.errors import MissingExtra, PluginError
from convrag.sdk.groups import GROUPS, options_group
from convrag.sdk.tasks.options import Option, Variant, describe_option, plugins, variants_of

State = Literal["ready", "faulty", "needs", "claimed", "broken"]


@dataclass(frozen=True)
class Entry:
    """An option, or a variant that extends one.

    Args:
        group: the stage, such as rewriter.
        name: what a user types: `rewriter=NAME`.
        help: its line of help.
        distribution: the distribution that brings it.
        version: the distribution's version.
        module: `package.module:Class` of an option, the package of a variant.
        file: where it is defined.
        state: "ready", "faulty" (it is ready, and something else of its plugin failed), "needs" (a
            library is missing), "claimed" (two plugins offer the name) or "broken".
        message: why it is not ready, and what to do about it.
        extends: the option or variant that a variant extends; empty for an option.
        details: the rest of the docstring.
        parameters: name, type, default and help of each parameter.
        values: the parameters that a variant sets.
    """

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


def list_entries(group: str) -> list[Entry]:
    """Return the options of a group and their variants, in alphabetical order."""
    registered = plugins.load().registry.options(options_group(group))
    options = {name: _make_option_entry(option) for name, option in registered.items()}
    variants = {each.name: _make_variant_entry(each, options) for each in variants_of(group)}
    entries = {**options, **variants}
    return [entries[name] for name in sorted(entries)]


def build_inventory(groups: list[str]) -> dict[str, Any]:
    """Return the options of these groups, and the plugins that failed to load, as data for JSON."""
    failures = plugins.load().registry.failures
    return {
        "convrag": __version__,
        "options": [asdict(entry) for group in groups for entry in list_entries(group)],
        "failures": [
            {"plugin": each.plugin, "distribution": each.distribution, "message": str(each)}
            for each in failures
        ],
    }


def list_groups() -> list[str]:
    """Return the groups that have options of their own."""
    return [group for group in GROUPS if group == options_group(group)]


def _make_option_entry(option: Option) -> Entry:
    entry = Entry(
        group=option.group,
        name=option.name,
        help=option.help,
        distribution=option.distribution,
        version=option.version,
        module=option.path,
        file=option.file,
    )
    try:
        plugins.load().registry.check_name(option.group, option.name)
    except PluginError as error:
        return replace(entry, state="claimed", message=str(error))
    try:
        description = describe_option(option)
    except MissingExtra as error:
        return replace(entry, state="needs", message=str(error))
    except ConvragError as error:
        return replace(entry, state="broken", message=str(error))
    except Exception as error:  # evaluating an annotation of a plugin may raise anything
        return replace(
            entry,
            state="broken",
            message=f"its signature cannot be read: {type(error).__name__}: {error}",
        )
    entry = replace(
        entry,
        details=description.details,
        parameters=tuple(asdict(parameter) for parameter in description.parameters),
    )
    missing = option.missing_extra()
    if missing:
        return replace(entry, state="needs", message=str(missing))
    fault = _find_fault(option)
    if fault:
        return replace(entry, state="faulty", message=fault)
    return entry


def _find_fault(option: Option) -> str:
    """Return another failure of an option's plugin, of one of its hooks, say; empty without one."""
    for failure in plugins.load().registry.failures:
        if (failure.plugin, failure.distribution) == (option.plugin, option.distribution):
            return str(failure)
    return ""


def find_variants(group: str) -> dict[str, str]:
    """Return the variants of a group's options -> the option or variant that each extends."""
    return {each.name: each.extends for each in variants_of(options_group(group))}


def find_base(name: str, variants: Mapping[str, str], options: Container[str]) -> str:
    """Return the option that a variant extends in the end; another name where there is none."""
    seen = set[str]()
    while name not in options and name in variants and name not in seen:
        seen.add(name)
        name = variants[name]
    return name


def _make_variant_entry(variant: Variant, options: Mapping[str, Entry]) -> Entry:
    """Return a variant, with the parameters and the state of the option that it extends."""
    base = find_base(variant.name, find_variants(variant.group), options)
    entry = Entry(
        group=variant.group,
        name=variant.name,
        help=variant.help,
        distribution=variant.distribution,
        version=find_version(variant.distribution),
        module=variant.package,
        file=variant.file,
        extends=variant.extends,
        values=dict(variant.values),
    )
    try:
        plugins.load().registry.check_name(variant.group, variant.name)
    except PluginError as error:
        return replace(entry, state="claimed", message=str(error))
    if base in options:
        option = options[base]
        return replace(
            entry, state=option.state, message=option.message, parameters=option.parameters
        )
    return entry


def find_version(distribution: str) -> str:
    """Return the version of a distribution; empty where it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
