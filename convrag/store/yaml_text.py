"""YAML within bounds: the one place that parses it.

An alias (`*name`) repeats what its anchor (`&name`) stands for, so 500 bytes can stand for a
billion values:

    a: &a [x, x, x, x]
    b: &b [*a, *a, *a, *a]
    c: [*b, *b, *b, *b]

PyYAML itself keeps such values once. Whoever copies them, as OmegaConf does, writes them out. So
the values are counted as they are written out, before anything is made of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

if TYPE_CHECKING:
    from omegaconf import DictConfig, ListConfig

MOST_VALUES = 100_000
"""Values of a text, with those that its aliases repeat."""

MOST_CHARACTERS = 10_000_000
"""Characters of these values."""

DEEPEST = 100
"""Lists and mappings within each other."""


class YamlOutOfBounds(ValueError):
    """A YAML text that stands for too many values, or nests too deeply."""


def parse_yaml(text: str) -> Any:
    """Parse YAML in which every value is a text, a list or a mapping; an empty value is None.

    Raises:
        ValueError: it is out of bounds.
        yaml.YAMLError: it is not YAML.
    """
    check_yaml(text)
    return yaml.load(text, _TextLoader)


def parse_config(text: str) -> DictConfig | ListConfig:
    """Parse YAML as OmegaConf does.

    Raises:
        ValueError: it is out of bounds, or OmegaConf refuses it.
        yaml.YAMLError: it is not YAML.
        OmegaConfBaseException: it is not a configuration.
    """
    from omegaconf import OmegaConf

    check_yaml(text)
    return OmegaConf.create(text)


def check_yaml(text: str) -> None:
    """Count the values of a text with those that its aliases repeat.

    Without an alias, a text stands for no more than it says, so its values are not counted.

    Raises:
        YamlOutOfBounds: there are too many, they are too long, or they nest too deeply.
        yaml.YAMLError: it is not YAML.
    """
    may_have_aliases = "&" in text and "*" in text
    if not may_have_aliases and len(text) <= MOST_VALUES:
        return
    counter = _Counter()
    for event in yaml.parse(text, yaml.SafeLoader):
        counter.add(event)


class _Size(NamedTuple):
    """The number of values, and of the characters in them."""

    values: int
    characters: int


class _Open:
    """A list or a mapping that is being read.

    Args:
        anchor: its name for aliases; None where it has none.
    """

    def __init__(self, anchor: str | None) -> None:
        self.anchor = anchor
        self.values = 1
        self.characters = 0


class _Counter:
    """Counts values event by event, in time and memory that aliases do not multiply."""

    def __init__(self) -> None:
        self._open = [_Open(None)]
        self._anchors: dict[str, _Size] = {}

    def add(self, event: yaml.Event) -> None:
        """Count the values that an event stands for. Raises YamlOutOfBounds."""
        if isinstance(event, yaml.CollectionStartEvent):
            self._open.append(_Open(event.anchor))
            if len(self._open) > DEEPEST:
                raise YamlOutOfBounds("it is nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = self._open.pop()
            self._count(_Size(closed.values, closed.characters), closed.anchor)
        elif isinstance(event, yaml.ScalarEvent):
            self._count(_Size(1, len(event.value)), event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._count_alias(event.anchor)

    def _count_alias(self, name: str) -> None:
        if any(each.anchor == name for each in self._open):
            raise YamlOutOfBounds(f"the alias *{name} stands within its own value")
        if name in self._anchors:  # whoever makes values refuses others
            self._count(self._anchors[name], None)

    def _count(self, size: _Size, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = size
        around = self._open[-1]
        around.values += size.values
        around.characters += size.characters
        if around.values > MOST_VALUES or around.characters > MOST_CHARACTERS:
            raise YamlOutOfBounds(
                f"with what its aliases (*name) repeat, it stands for more than {MOST_VALUES:,} "
                f"values, or {MOST_CHARACTERS:,} characters"
            )


class _TextLoader(yaml.BaseLoader):  # type: ignore[misc]
    """Leaves values texts, so that 1.10 stays 1.10, but for empty ones and null."""


_NULL = "tag:yaml.org,2002:null"
_TextLoader.add_implicit_resolver(_NULL, re.compile("(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_TextLoader.add_constructor(_NULL, lambda loader, node: None)
