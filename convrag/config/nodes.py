"""What Hydra's store holds for us: options, and YAML files of another group, each read when Hydra loads it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy, deepcopy
from importlib import resources
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigNode
from omegaconf import DictConfig, OmegaConf

from convrag.api.groups import OPTION_KEY, SEVERAL, options_group
from convrag.config.yaml_files import read_yaml
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.parameters import Use
from convrag.registry.schema import plain_value


class LazyNode(ConfigNode):
    """A configuration in Hydra's store that is made at its first use: making all of them takes longer than Hydra."""

    _made: DictConfig | None = None

    def __init__(self, group: str, name: str, package: str | None, provider: str) -> None:
        self.name, self.group, self.package, self.provider = f"{name}.yaml", group, package, provider

    @property
    def node(self) -> DictConfig:  # type: ignore[override]
        """The configuration."""
        if self._made is None:
            self._made = self.make_node()
        return self._made

    @abstractmethod
    def make_node(self) -> DictConfig:
        """Make the configuration."""

    def __copy__(self) -> ConfigNode:
        """What Hydra gets, since it copies what it loads: the configuration, made."""
        return ConfigNode(self.name, self.node, self.group, self.package, self.provider)

    def __deepcopy__(self, memo: dict[int, Any]) -> ConfigNode:
        return deepcopy(copy(self), memo)


class OptionNode(LazyNode):
    """An option: its parameters, typed and defaulted as in the signature of its class, which is imported for that.

    Args:
        group: where it is offered: rerankers are the rankers.
        option: what is offered.
        from_source: whether the parameters are read from the source where that is possible, untyped, for a help text.
    """

    def __init__(self, group: str, option: Option, *, from_source: bool = False) -> None:
        package = f"{group}.{option.name}" if group in SEVERAL else None
        super().__init__(group, option.name, package, option.distribution)
        self.option = option
        self.from_source = from_source

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process go the names, and the files to load there: it cannot import what a file brought."""
        return _find_option_node, (tuple(plugins.load().files), self.group, self.option.name)

    def make_node(self) -> DictConfig:
        """The typed schema, or what the source says. Raises ConvragError for a class that is no option."""
        plain = _read_source(self.option) if self.from_source else None
        return OmegaConf.structured(self.option.schema) if plain is None else OmegaConf.create(plain)


class VariantNode(LazyNode):
    """A YAML file of one group, offered in another one too: a variant of a ranker is one of a reranker.

    Args:
        group: where it is offered.
        name: the file's name without its suffix.
        package: the package that holds the file.
        distribution: who brought it.
    """

    def __init__(self, group: str, name: str, package: str, distribution: str) -> None:
        super().__init__(group, name, None, distribution)
        self._arguments = (group, name, package, distribution)

    def __reduce__(self) -> tuple[Any, ...]:
        return VariantNode, self._arguments

    def make_node(self) -> DictConfig:
        """Read the file. Raises ConfigError where it cannot be read."""
        group, name, package, _ = self._arguments
        return read_yaml(resources.files(package).joinpath(options_group(group), f"{name}.yaml"))


def _find_option_node(files: Iterable[Path], group: str, name: str) -> OptionNode:
    for file in files:
        plugins.load().add_file(file)
    return OptionNode(group, plugins.load().registry.get(group, name))


def _read_source(option: Option) -> dict[str, Any] | None:
    """The parameters of an option that is not imported; None where its source does not say them."""
    parameters = option.source_parameters
    if parameters is None:
        return None
    plain: dict[str, Any] = {OPTION_KEY: option.name}
    nested = []
    for name, parameter in parameters.items():
        if parameter.injects_store:
            continue
        default = option.defaults.get(name)
        if parameter.group:
            plain[name] = None
            used = default.option if isinstance(default, Use) else parameter.used_option or None
            nested.append({f"/{parameter.group}@{name}": used})
        else:
            plain[name] = plain_value(default if name in option.defaults else parameter.read_default())
    return plain | ({"defaults": ["_self_", *nested]} if nested else {})
