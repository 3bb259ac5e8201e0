"""The variants of a group's options: YAML files that extend an option, or another variant, with
values of their own.

They lie in `conf/<group>/` of ours and of the packages that plugins name. Those of the rankers are
rerankers too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from convrag.api.groups import GROUPS, OPTION_KEY, options_group
from convrag.api.stages import Task
from convrag.config.settings import PRESETS
from convrag.registry import plugins
from convrag.registry.parameters import Parameter

CONFIG_MODULE = "convrag.conf"


@dataclass(frozen=True)
class Variant:
    """One file: the option that it extends, or "", its values, and who brought it."""

    group: str
    name: str
    help: str
    distribution: str
    package: str
    file: str
    extends: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


@cache
def default_options() -> Mapping[str, str]:
    """Group -> the option that conf/config.yaml chooses for `task=run`."""
    file = resources.files(CONFIG_MODULE).joinpath("config.yaml")
    config = OmegaConf.create(file.read_text(encoding="utf-8"))
    config.default_generator = Task.default_generator  # `${default_generator}` in the list
    chosen = {}
    for entry in config.defaults:
        if not isinstance(entry, str):
            ((key, name),) = entry.items()
            if key in GROUPS and isinstance(name, str):
                chosen[key] = name
    return chosen


def variants(group: str) -> dict[str, str]:
    """The YAML variants of a group's options, ours and the plugins': name -> the comment at the
    head of the file.
    """
    return {
        name: _read_comment(file.read_bytes().decode("utf-8", "replace"))
        for package in yaml_packages()
        for name, file in offered_files(package, group).items()
    }


def variants_of(group: str) -> Iterator[Variant]:
    """The variants of a group in alphabetical order. Raises nothing: a file that is no YAML extends
    nothing.
    """
    packages = yaml_packages()
    for name, comment in sorted(variants(group).items()):
        package = next(package for package in packages if name in offered_files(package, group))
        file = offered_files(package, group)[name]
        extends, values = _read(file)
        yield Variant(group, name, comment, packages[package], package, str(file), extends, values)


def yaml_packages() -> dict[str, str]:
    """The packages that hold YAML -> the distribution of each; ours is the first."""
    return {CONFIG_MODULE: plugins.FIRST_PARTY, **plugins.load().config_packages}


def offered_files(package: str, group: str) -> dict[str, Traversable]:
    """The variants that a package offers in a group by name: its files there and in its options'
    group.
    """
    files = yaml_files(package)
    return {
        name: file
        for of in (options_group(group), group)
        for (at, name), file in files.items()
        if at == of
    }


@cache
def yaml_files(package: str) -> dict[tuple[str, str], Traversable]:
    """Group and name -> the file of each variant that a package holds, in alphabetical order."""
    root = resources.files(package)
    groups = [group for group in (*GROUPS, *PRESETS) if root.joinpath(group).is_dir()]
    files = [(group, file) for group in groups for file in root.joinpath(group).iterdir()]
    named = {
        (group, f.name.removesuffix(".yaml")): f for group, f in files if f.name.endswith(".yaml")
    }
    return dict(sorted(named.items()))


def _read_comment(text: str) -> str:
    """The first line of a YAML file's comment; before it are lines for Hydra (`# @package`) and for
    editors.
    """
    lines = [
        line.lstrip("# ")
        for line in text.splitlines()
        if not line.startswith(("# @", "# yaml-language-server"))
    ]
    return lines[0] if lines and text.startswith("#") else ""


def option_node(group: str, name: str) -> dict[str, Any]:
    """The configuration of an option or a variant that a YAML file names at a stage's place
    (`clusterer: lsa`).

    Raises UnknownName where there is none.
    """
    variants = {variant.name: variant for variant in variants_of(group)}
    values: dict[str, Any] = {}
    while name in variants and variants[name].extends:
        values = {**variants[name].values, **values}
        name = variants[name].extends
    return {**values, OPTION_KEY: plugins.load().registry.get(group, name).name}


def chooses_stage(parameter: Parameter, value: Any) -> bool:
    """Whether a value at the place of a stage configures one; a parameter may take either.

    The name of an option or a variant chooses it, also where a file has this name.
    """
    if parameter.value_type is None or value is None or isinstance(value, Mapping):
        return True
    group = options_group(parameter.group)
    names = {*plugins.load().registry.options(group), *variants(group)}
    return isinstance(value, str) and value in names


def _read(file: Traversable) -> tuple[str, dict[str, Any]]:
    """The option that a file extends, and its values."""
    try:
        read = OmegaConf.to_container(OmegaConf.create(file.read_text(encoding="utf-8")))
    except (
        YAMLError,
        OmegaConfBaseException,
        OSError,
        ValueError,
        RecursionError,
    ):  # said when it is chosen
        return "", {}
    if not isinstance(read, dict):
        return "", {}
    values = {str(name): value for name, value in read.items()}
    defaults = values.pop("defaults", None) or []
    extended = [entry for entry in defaults if isinstance(entry, str) and entry != "_self_"]
    # "/ranker/bge_reranker@_here_" is how a file of one group extends one of another
    return (extended[0].partition("@")[0].rpartition("/")[2] if extended else ""), values
