"""The options in the text of `--help`, made from what is installed."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass

from convrag.api.groups import GROUPS
from convrag.config.settings import PRESETS, Settings
from convrag.config.variants import variants
from convrag.registry import plugins

_DESCRIPTIONS = {
    "ranker": "ranks the clusters of nuggets from which generator=ginger answers; passages are ranked by reranker",
    "reranker": "ranks the retrieved passages again, with the options of ranker",
}
"""Group -> what its stages do, where two groups share a class."""


def help_text() -> str:
    """The options of each group with a line for each, and the settings."""
    registry = plugins.load().registry
    lines = ["Stages (group=option):"]
    for group in GROUPS:
        heading = ["", f"  {group}: {_describe_group(group)}"]
        if group == "reranker":
            lines += heading
        elif options := registry.options(group):
            offered = {name: option.help for name, option in options.items()} | variants(group)
            lines += [*heading, *(f"    {name:<22} {text}" for name, text in sorted(offered.items()))]
    for group, what in PRESETS.items():
        lines += ["", f"  +{group}=...: {what}"]
        lines += [f"    {name:<22} {text}" for name, text in variants(group).items()]
    lines += ["", "Settings (key=value):", ""]
    lines += [f"  {name:<24} {text}" for name, text in _settings(Settings)]
    lines += [f"\n{failure}" for failure in registry.failures]
    return "\n".join(lines)


def _describe_group(group: str) -> str:
    """What the stages of a group do, in a line."""
    text = _DESCRIPTIONS.get(group) or (inspect.getdoc(GROUPS[group]) or "").partition("\n")[0]
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")


def _settings(settings: type, prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for field in fields(settings):
        if inspect.isclass(field.default_factory) and is_dataclass(field.default_factory):
            found += _settings(field.default_factory, f"{prefix}{field.name}.")
        else:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            found.append((f"{prefix}{field.name}={default}", field.metadata["help"]))
    return found
