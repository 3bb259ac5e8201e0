"""Where in a YAML file a key stands, or a choice; and lists of defaults that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import yaml

from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS, SEVERAL


class Default(NamedTuple):
    """An entry of a list of defaults: its group ("rewriter"; empty in a variant), its place after "@", and the name."""

    group: str
    place: str
    name: str

    @property
    def path(self) -> str:
        """The file that Hydra looks for: "rewriter/mmr"."""
        return f"{self.group}/{self.name}".strip("/")


def find_key(text: str, place: str, key: str) -> str:
    """Where a file sets a key: "line 3, column 5"; empty where it does not.

    Args:
        text: of the file, which is YAML.
        place: where the file's keys stand in the configuration: "", "rewriter".
        key: the key's full name: "rewriter.n".
    """
    if place and not f"{key}.".startswith(f"{place}."):
        return ""
    return _find_below(yaml.compose(text), key.removeprefix(place).strip("."))


def _find_below(node: yaml.Node | None, key: str) -> str:
    """Where a key ("rewriter.n") stands below a node, or a part of it that is written as one ("rewriter.n: 3")."""
    for at, value in node.value if isinstance(node, yaml.MappingNode) else ():
        name = at.value if isinstance(at.value, str) else ""
        if key in (name, name.title()):
            return _mark(at)
        if key.startswith(f"{name}.") and (where := _find_below(value, key.removeprefix(f"{name}."))):
            return where
    return ""


def find_default(text: str, wanted: Callable[[Default], bool]) -> str:
    """Where the first wanted entry stands in a file's list of defaults: "line 3, column 5"; empty where none does."""
    defaults = _find_defaults(text)
    for entry in defaults.value if isinstance(defaults, yaml.SequenceNode) else ():
        pairs = entry.value if isinstance(entry, yaml.MappingNode) else [(None, entry)]
        for key, value in pairs:
            group, place = (_group_of(key.value), key.value.partition("@")[2]) if key else ("", "")
            for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if wanted(Default(group, place, each.value)):
                    return _mark(each)
    return ""


def find_flat(text: str, names: Collection[str]) -> tuple[str, str]:
    """The first of these keys of a file that has no keys below it, though it should, and where it stands."""
    root = yaml.compose(text)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value in names and not isinstance(value, yaml.MappingNode):
            return key.value, _mark(key)
    return "", ""


def check_defaults(path: str, text: str) -> None:
    """Raise ConfigError, with file and line, for a list of defaults that Hydra would refuse without naming them."""
    defaults = _find_defaults(text)
    if defaults is None:
        return
    entries = defaults.value if isinstance(defaults, yaml.SequenceNode) else None
    if wrong := [defaults] if entries is None else [entry for entry in entries if not _is_default(entry)]:
        raise ConfigError(
            f"{path}, {_mark(wrong[0])}: defaults are a list with an entry for each choice: "
            "'- override /rewriter: mmr' in a preset, '- last_n' in a variant of an option"
        )


def _find_defaults(text: str) -> yaml.Node | None:
    root = yaml.compose(text)
    pairs = root.value if isinstance(root, yaml.MappingNode) else ()
    return next((value for key, value in pairs if key.value == "defaults"), None)


def _is_default(entry: yaml.Node) -> bool:
    """Whether an entry is `name`, `group: name`, `group: [names]` or `group: null`."""
    if isinstance(entry, yaml.ScalarNode):
        return _is_name(entry)
    if not isinstance(entry, yaml.MappingNode) or len(entry.value) != 1:
        return False
    ((key, value),) = entry.value
    if isinstance(value, yaml.SequenceNode):
        several = len(value.value) > 1 and _group_of(key.value) in {*GROUPS} - SEVERAL
        return _is_name(key) and all(map(_is_name, value.value)) and not several
    return _is_name(key) and (_is_name(value) or value.tag.endswith(":null"))


def _group_of(key: str) -> str:
    """The group of "override /rewriter@place"."""
    return (key.split() or [""])[-1].partition("@")[0].strip("/")


def _is_name(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag.endswith(":str") and bool(node.value.strip())


def _mark(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}, column {node.start_mark.column + 1}"
