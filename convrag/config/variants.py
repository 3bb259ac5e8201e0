"""The variants of a group's options: YAML files that extend an option, or another variant, with values of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from omegaconf import OmegaConf

from convrag.api.groups import OPTION_KEY
from convrag.config import compose as config
from convrag.registry import plugins


@dataclass(frozen=True)
class Variant:
    """One file: what it extends (empty where it extends nothing), what it sets, and who brought it."""

    group: str
    name: str
    help: str
    distribution: str
    package: str
    file: str
    extends: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def variants_of(group: str) -> Iterator[Variant]:
    """The variants of a group in alphabetical order. Raises nothing: a file that is no YAML extends nothing."""
    packages = {config.CONFIG_MODULE: plugins.FIRST_PARTY, **plugins.load().config_packages}
    for name, said in config.variants(group).items():
        for package, distribution in packages.items():
            file = resources.files(package).joinpath(group, f"{name}.yaml")
            if file.is_file():
                extends, values = _read(file)
                yield Variant(group, name, said, distribution, package, str(file), extends, values)
                break


def option_node(group: str, name: str) -> dict[str, Any]:
    """The configuration of an option or a variant that a YAML file names at a stage's place (`clusterer: lsa`).

    Raises UnknownName where there is none.
    """
    variants = {variant.name: variant for variant in variants_of(group)}
    values: dict[str, Any] = {}
    while name in variants and variants[name].extends:
        values = {**variants[name].values, **values}
        name = variants[name].extends
    return {**values, OPTION_KEY: plugins.load().registry.get(group, name).name}


def _read(file: Traversable) -> tuple[str, dict[str, Any]]:
    try:
        read = OmegaConf.to_container(OmegaConf.create(file.read_text(encoding="utf-8")))
    except Exception:  # Hydra says what is wrong with it when it is chosen
        return "", {}
    if not isinstance(read, dict):
        return "", {}
    values = {str(name): value for name, value in read.items()}
    defaults = values.pop("defaults", None) or []
    extended = [entry for entry in defaults if isinstance(entry, str) and entry != "_self_"]
    # "/ranker/bge_reranker@_here_" is how a reranker extends a ranker
    return (extended[0].partition("@")[0].rpartition("/")[2] if extended else ""), values
