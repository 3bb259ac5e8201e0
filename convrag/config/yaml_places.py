"""Where in a YAML file a key stands, or a choice; and lists of defaults that cannot be."""

from __future__ import annotations

import yaml

from convrag.api.errors import ConfigError


def find_key(text: str, place: str, key: str) -> str:
    """Where a file sets a key: "line 3, column 5"; empty where it does not.

    Args:
        text: of the file, which is YAML.
        place: where the file's keys stand in the configuration: "", "rewriter".
        key: the key's full name: "rewriter.n".
    """
    if place and not f"{key}.".startswith(f"{place}."):
        return ""
    node: yaml.Node | None = yaml.compose(text)
    found: yaml.Node | None = None
    for name in key.removeprefix(place).strip(".").split("."):
        entries = node.value if isinstance(node, yaml.MappingNode) else ()
        found, node = next(((at, value) for at, value in entries if at.value == name), (None, None))
        if found is None:
            return ""
    return _mark(found) if found else ""


def find_choice(text: str, group: str, name: str) -> str:
    """Where a file's defaults choose an option of a group: "line 3, column 5"; empty where they do not."""
    defaults = _find_defaults(text)
    for entry in defaults.value if isinstance(defaults, yaml.SequenceNode) else ():
        pairs = entry.value if isinstance(entry, yaml.MappingNode) else [(None, entry)]
        for key, value in pairs:
            of = key.value.split()[-1].partition("@")[0].strip("/") if key else ""
            for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                chosen = each.value.partition("@")[0].strip("/")
                if chosen in ((name, f"{group}/{name}") if of in ("", group) else ()):
                    return _mark(each)
    return ""


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
        return _is_name(key) and all(map(_is_name, value.value))
    return _is_name(key) and (_is_name(value) or value.tag.endswith(":null"))


def _is_name(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag.endswith(":str") and bool(node.value.strip())


def _mark(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}, column {node.start_mark.column + 1}"
