"""The configuration that a conversation belongs to: options, and the parameters that bear on results."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from convrag.api.errors import OtherConfiguration
from convrag.api.groups import OPTION_KEY
from convrag.api.secrets import MASK, describe_secret, is_secret_name, list_held_secrets
from convrag.api.session import Session
from convrag.config.settings import Settings
from convrag.registry.option import Option
from convrag.registry.schema import plain_value
from convrag.store.strict_json import format_json, parse_json

SETTINGS = "settings"
_RESULT_SETTINGS = ("top_k", "top_n", "history")


def describe_stage(option: Option, values: Mapping[str, Any], written: Any) -> dict[str, Any]:
    """Describe a stage: its option and those parameters that bear on results, as plain data without secrets.

    Paths are absolute. A reference such as ${oc.env:KEY} stays one: nobody can tell whether it is secret.

    Args:
        option: the option.
        values: its plain parameters, checked.
        written: its node of the configuration, unresolved; None where it has no node.
    """
    nodes = written if isinstance(written, Mapping) else {}
    held = list_held_secrets()
    parameters = {
        name: _describe_value(name, value, nodes.get(name), held)
        for name, value in values.items()
        if not option.parameters[name].operational
    }
    described: dict[str, Any] = parse_json(format_json({OPTION_KEY: option.name, **parameters}))
    return described


def describe_settings(settings: Settings) -> dict[str, Any]:
    """Describe the settings that bear on results."""
    return {name: getattr(settings, name) for name in _RESULT_SETTINGS}


def check_configuration(session: Session, configuration: Mapping[str, Any]) -> None:
    """Raise OtherConfiguration unless a conversation was begun with this configuration.

    What is not known (of a pipeline that was built by hand) differs from nothing.
    """
    if not session.configuration or not configuration or session.configuration == configuration:
        return
    if differences := find_differences(session.configuration, configuration):
        raise OtherConfiguration(session.id, differences)


def find_differences(begun: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Find what differs between two configurations: ("rewriter=mmr", "rewriter=dhrag"), ("top_k=10", "top_k=20").

    Where the options of a place differ, their parameters, and the stages that are injected there, are not compared. A
    parameter that one of the two does not know, as after an upgrade, does not differ. A place that only one of the two
    has (the other uses no clusterer, say) is told where nothing else differs.
    """
    places = sorted({*begun, *now}, key=lambda place: (place.count("."), place))
    other: list[str] = []
    differences: list[tuple[str, str]] = []
    missing: list[tuple[str, str]] = []
    for place in places:
        if any(place.startswith(f"{parent}.") for parent in other):
            continue
        first, second = begun.get(place, {}), now.get(place, {})
        if first.get(OPTION_KEY) != second.get(OPTION_KEY):
            other.append(place)
            found = differences if first and second else missing
            found.append((f"{place}={_name_option(first)}", f"{place}={_name_option(second)}"))
            continue
        prefix = "" if place == SETTINGS else f"{place}."
        differences += [
            (f"{prefix}{name}={first[name]}", f"{prefix}{name}={second[name]}")
            for name in first
            if name in second and first[name] != second[name]
        ]
    return differences or missing


def _name_option(stage: Mapping[str, Any]) -> str:
    return str(stage.get(OPTION_KEY, "none"))


def _describe_value(name: str, value: Any, written: Any, held: Mapping[str, str]) -> Any:
    absolute = replace_paths(value, lambda path: str(path.expanduser().absolute()))
    plain = written if "${" in str(written) and not isinstance(value, Path) else plain_value(absolute)
    named_so = is_secret_name(name) and isinstance(plain, str) and "${" not in plain
    return MASK if plain and (named_so or describe_secret(str(plain), held)) else plain


def replace_paths(value: Any, replace: Callable[[Path], Any]) -> Any:
    """Replace the paths in a value, also in lists and dictionaries."""
    if isinstance(value, Path):
        return replace(value)
    if isinstance(value, Mapping):
        return {key: replace_paths(item, replace) for key, item in value.items()}
    return [replace_paths(item, replace) for item in value] if isinstance(value, list | tuple) else value
