"""What the words of a command choose: the option at each place, for tab completion, so without composing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from convrag.api.errors import ConvragError
from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL
from convrag.config.settings import PRESETS
from convrag.config.variants import CONFIG_MODULE, option_node, yaml_files, yaml_packages
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.parameters import Use

OVERRIDE = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[^=]*)(?P<equals>=)?(?P<value>.*)", re.DOTALL)


class ChosenStages:
    """The stages that a command chooses, as far as its words tell. Raises nothing: what is wrong chooses nothing.

    Args:
        words: the arguments: ["rewriter=mmr", "rewriter.clusterer=agglomerative", "-m"].
    """

    def __init__(self, words: Sequence[str]) -> None:
        found = [match for word in words if (match := OVERRIDE.fullmatch(word)) and match["equals"]]
        pairs = [(match["key"].rpartition("@")[2], _split(match["value"])) for match in found]
        self._typed = {place: names for place, names in pairs if names}
        for name in self._typed.get("plugins", ()):
            with suppress(ConvragError, OSError):
                plugins.load().add_file(Path(name))
        self._preset = self._read_presets()
        self._default = _read_defaults(resources.files(CONFIG_MODULE).joinpath("config.yaml").read_text("utf-8"))

    def list_chosen(self, group: str) -> list[str]:
        """The names that are chosen in a group: by the command, else by its presets, else by default."""
        return self._typed.get(group) or self._preset.get(group) or self._default.get(group) or []

    def find_option(self, place: str) -> Option | None:
        """The option of the stage at a place ("rewriter.clusterer", "metrics.ranking"); None where there is none.

        Of a grid's options, it is the first.
        """
        group, *path = place.split(".")
        if group not in GROUPS:
            return None
        at, names = group, self.list_chosen(group)
        if group in SEVERAL:
            at, names, path = ".".join([group, *path[:1]]), path[:1], path[1:]
        node = _make_node(group, names)
        for name in path:
            at, option = f"{at}.{name}", _get_option(group, node)
            inner = option.injected_groups().get(name) if option else None
            if option is None or inner is None:
                return None
            names = [*self._typed.get(at, ()), *_list_used(option, name, node), *self.list_chosen(inner)]
            group, node = inner, _make_node(inner, names)
        return _get_option(group, node)

    def _read_presets(self) -> dict[str, list[str]]:
        """Group -> what the presets of the command choose."""
        chosen: dict[str, list[str]] = {}
        for package in yaml_packages():
            for (group, name), file in yaml_files(package).items():
                if group in PRESETS and name in self._typed.get(group, ()):
                    chosen |= _read_defaults(file.read_text(encoding="utf-8"))
        return chosen


def _split(value: str) -> list[str]:
    """The names in a value: of "[ranking,answers]", of a grid's "mmr,dhrag", of "mmr"."""
    return [each.strip() for each in value.strip("[]").split(",") if each.strip()]


@cache
def _read_defaults(text: str) -> dict[str, list[str]]:
    """Group -> names, of the defaults list in a YAML file ("- rewriter: auto", "- override /rewriter: mmr")."""
    read: Any = OmegaConf.to_container(OmegaConf.create(text))
    pairs = [item for entry in read.get("defaults") or () if isinstance(entry, dict) for item in entry.items()]
    named = [(str(key).removeprefix("override ").lstrip("/"), names) for key, names in pairs]
    return {group: [names] if isinstance(names, str) else list(names) for group, names in named if group in GROUPS}


def _make_node(group: str, names: Sequence[str]) -> Mapping[str, Any]:
    """The configuration of the first option or variant that is named; empty where there is none."""
    with suppress(ConvragError):
        return option_node(group, names[0]) if names else {}
    return {}


def _get_option(group: str, node: Mapping[str, Any]) -> Option | None:
    return plugins.load().registry.get(group, str(node[OPTION_KEY])) if node else None


def _list_used(option: Option, name: str, node: Mapping[str, Any]) -> list[str]:
    """The option that a stage's own stage has where the command names none: a variant's, or the signature's."""
    found = [each for each in (node.get(name),) if isinstance(each, str)]
    with suppress(ConvragError):
        default = option.parameters[name].default
        found += [default.option] if isinstance(default, Use) else []
    return found
