"""The installed options and variants as data: where each comes from, its parameters, and whether it is ready to run."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from omegaconf import OmegaConf

from convrag import ConfigError, ConvragError, UnknownName, __version__
from convrag.sdk.errors import PluginError
from convrag.sdk.groups import GROUPS, OPTION_KEY, options_group
from convrag.sdk.tasks.options import (
    FIRST_PARTY,
    GROUP,
    Option,
    Variant,
    check_value,
    describe_option,
    plugins,
    variants_of,
)

State = Literal["ready", "faulty", "needs", "claimed", "broken"]


@dataclass(frozen=True)
class Entry:
    """An option, or a variant that extends one.

    Args:
        group: the stage, such as rewriter.
        name: what a user types: `rewriter=NAME`.
        help: the first line of the docstring.
        distribution: the distribution that brings it.
        version: of the distribution.
        module: `package.module:Class` of an option, the package of a variant.
        file: where it is defined.
        state: "ready", "faulty" (it is ready, and something else of its plugin failed), "needs" (a library is missing),
            "claimed" (two plugins offer the name) or "broken".
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
    """The options of a group and their variants, in alphabetical order."""
    offered = options_group(group)
    options = {name: _make_option_entry(option) for name, option in plugins.load().registry.options(offered).items()}
    extended = {each.name: each.extends for each in variants_of(offered)}
    found = {**options, **{each.name: _make_variant_entry(each, options, extended) for each in variants_of(group)}}
    return [found[name] for name in sorted(found)]


def build_inventory(groups: list[str]) -> dict[str, Any]:
    """The options of these groups, and the plugins that failed to load, as data for JSON."""
    failures = list_failures()
    return {
        "convrag": __version__,
        "options": [asdict(entry) for group in groups for entry in list_entries(group)],
        "failures": [
            {"plugin": each.plugin, "distribution": each.distribution, "message": str(each)} for each in failures
        ],
    }


def list_failures() -> list[PluginError]:
    """What failed of the plugins that were found, and the distributions that register none."""
    return [*plugins.load().registry.failures, *_find_unregistered()]


def list_groups() -> list[str]:
    """The groups that have options of their own."""
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
    except ConvragError as error:
        return replace(entry, state="broken", message=str(error))
    except Exception as error:  # evaluating an annotation of a plugin may raise anything
        return replace(entry, state="broken", message=f"its signature cannot be read: {type(error).__name__}: {error}")
    missing, fault = option.missing_extra(), _find_fault(option)
    return replace(
        entry,
        details=description.details,
        parameters=tuple(asdict(parameter) for parameter in description.parameters),
        state="needs" if missing else "faulty" if fault else "ready",
        message=str(missing or fault),
    )


def _find_fault(option: Option) -> str:
    """What else of an option's plugin failed, a hook of it, say; empty where nothing did."""
    failures = plugins.load().registry.failures
    origin = (option.plugin, option.distribution)
    return next((str(each) for each in failures if (each.plugin, each.distribution) == origin), "")


def _make_variant_entry(variant: Variant, options: Mapping[str, Entry], extended: Mapping[str, str]) -> Entry:
    """A variant may extend another variant; the option that the last one extends has its parameters and state."""
    base, seen = variant.extends, set[str]()
    while base not in options and base in extended and base not in seen:
        seen.add(base)
        base = extended[base]
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
    if mistake := _find_mistake(variant, base):
        return replace(entry, state="broken", message=mistake)
    if base in options:
        option = options[base]
        return replace(entry, state=option.state, message=option.message, parameters=option.parameters)
    return entry


def _find_mistake(variant: Variant, base: str) -> str:
    """What is wrong with a variant of the option `base`; empty where it is the option that is broken."""
    try:
        return explain_mistake(variant, plugins.load().registry.options(options_group(variant.group)).get(base))
    except ConvragError:
        return ""


def find_version(distribution: str) -> str:
    """The version of a distribution; empty where it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _find_unregistered() -> Iterator[PluginError]:
    """Yield what is wrong with each distribution that needs convrag, and has no entry point in its group."""
    needing = {each.name: each for each in metadata.distributions() if _needs_convrag(each)}
    for name, distribution in needing.items():
        groups = sorted({entry_point.group for entry_point in distribution.entry_points})
        if name == FIRST_PARTY or GROUP in groups:
            continue
        near = get_close_matches(GROUP, groups, n=1, cutoff=0.75)
        reason = (
            f"its entry points are in the group {near[0]!r}, which must be {GROUP!r}"
            if near
            else "it has no entry point in the group 'convrag'"
        )
        yield PluginError(
            f"{name} depends on convrag and registers nothing: {reason}. Write [project.entry-points.{GROUP}] with "
            f'NAME = "PACKAGE" into its pyproject.toml, and install it again',
            plugin=near[0] if near else name,
            distribution=name,
        )


def _needs_convrag(distribution: metadata.Distribution) -> bool:
    """Whether a distribution needs convrag in any case: not for an extra of its own."""
    required = [line for line in distribution.requires or () if "extra ==" not in line]
    return any(re.match(rf"{FIRST_PARTY}(?![\w.-])", line, re.IGNORECASE) for line in required)


def explain_mistake(variant: Variant, option: Option | None) -> str:
    """What is wrong with a variant's file, with its name and the line; empty where nothing is.

    Args:
        variant: the file.
        option: what it extends in the end; None where that does not exist.

    Raises:
        ConvragError: the option cannot be used itself.
    """
    try:
        text = Path(variant.file).read_text(encoding="utf-8-sig")
        read: Any = OmegaConf.to_container(OmegaConf.create(text))
    except (OSError, UnicodeDecodeError) as error:
        return f"{variant.file} cannot be read: {error}"
    except Exception as error:  # of PyYAML, and OmegaConf's own
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        return f"{variant.file}{place}: it is no YAML ({getattr(error, 'problem', None) or error})"
    if not isinstance(read, Mapping):
        return f"{variant.file}: it is no list of settings, such as defaults: [OPTION, _self_]"
    if not variant.extends:
        return f"{variant.file}: it extends no option of {variant.group}. Its first line is defaults: [OPTION, _self_]"
    if option is None:
        return f"{variant.file}{_find_line(text, 'defaults')}: it extends {variant.extends}, which does not exist"
    return next((f"{variant.file}{_find_line(text, key)}: {mistake}" for key, mistake in _check(read, option)), "")


def _check(read: Mapping[Any, Any], option: Option) -> Iterator[tuple[str, str]]:
    """The keys that the option does not have, and the values that it cannot have, each with a message."""
    for key, value in read.items():
        if key in ("defaults", OPTION_KEY):
            continue
        if key not in option.configurable:
            yield key, str(UnknownName(f"{option.group}={option.name}: parameter", str(key), option.configurable))
        elif not option.parameters[key].group and not _is_interpolated(value):
            try:
                check_value(value, option.parameters[key], key)
            except ConfigError as error:
                yield key, str(error)


def _is_interpolated(value: object) -> bool:
    """Whether a value is known only when it is used: `${oc.env:HOME}`, or `???`."""
    return isinstance(value, str) and ("${" in value or value == "???")


def _find_line(text: str, key: str) -> str:
    """The line that begins with a key."""
    numbers = [number for number, line in enumerate(text.splitlines(), start=1) if line.startswith((key, f'"{key}'))]
    return f", line {numbers[0]}" if numbers else ""
