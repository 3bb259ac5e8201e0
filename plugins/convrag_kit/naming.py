"""The names of a new plugin, and why one will not do."""

from __future__ import annotations

import keyword
import re
import sys
from importlib import metadata
from importlib.util import find_spec

from convrag import ConfigError, UnknownName
from convrag.api.stages import GROUPS
from convrag.config import variants
from convrag.registry import plugins
from convrag_kit.kinds import KINDS

_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_stage(stage: str) -> None:
    """Raise ConfigError where there is no such stage to write a plugin for."""
    if stage == "reranker":
        raise ConfigError("task.stage=reranker: rerankers are rankers, so write task.stage=ranker")
    if stage not in KINDS:
        raise UnknownName("task.stage: group", stage, KINDS)


def check_package(package: str) -> None:
    """Raise ConfigError where a package cannot be called so, or one is already."""
    place = f"task.package={package}"
    if not _is_name(package):
        tame = "".join(sign if sign.isalnum() and sign.isascii() else "_" for sign in package.lower()).strip("_")
        guess = f": {tame}" if _is_name(tame) else ""
        raise ConfigError(
            f"{place} cannot be imported: a package's name has lower-case letters, digits and underscores, begins with "
            f"a letter and is no word of Python's{guess}"
        )
    if package in sys.stdlib_module_names or package == plugins.FIRST_PARTY or _found(package):
        raise ConfigError(f"{place} is taken: a module of this name is installed. Choose another one")
    if _distribution_exists(distribution_of(package)):
        raise ConfigError(f"{place} is taken: {distribution_of(package)} is installed. Choose another one")


def check_option(stage: str, option: str) -> None:
    """Raise ConfigError where an option cannot be called so, or one is already."""
    place = f"{stage}={option}"
    if not _OPTION.fullmatch(option):
        raise ConfigError(
            f"task.option: {place} will not do: a name begins with a letter, and has letters, digits, _ and - alone"
        )
    groups = ("ranker", "reranker") if stage == "ranker" else (stage,)
    for group in groups:
        taken = plugins.load().registry.options(group)
        if option in taken or option in variants(group) or option in GROUPS:
            holder = f" by {taken[option].distribution}" if option in taken else ""
            raise ConfigError(f"{place} is taken{holder}: choose a name with a prefix of your own, task.option=...")


def distribution_of(package: str) -> str:
    """The name under which a package is published, and that of its folder: never the package's own.

    A folder that is named like the package in it hides the package from whoever stands beside the folder: Python takes
    the folder for it.
    """
    dashed = package.replace("_", "-")
    return dashed if dashed != package else f"convrag-{package}"


def class_of(option: str, stage: str) -> str:
    """The class's name: `acme_rewriter` is AcmeRewriter, and so is the rewriter `acme`."""
    words = [word for word in option.replace("-", "_").split("_") if word]
    kind = "LLM" if stage == "llm" else stage.capitalize()
    if words[-1].lower() == stage:
        words = words[:-1]
    return "".join(word[:1].upper() + word[1:] for word in words) + kind


def _is_name(package: str) -> bool:
    plain = package.isidentifier() and package.isascii() and package == package.lower()
    return plain and not package.startswith("_") and not keyword.iskeyword(package)


def _found(package: str) -> bool:
    """Whether it can be imported; a mere folder of that name in the working folder is none."""
    spec = find_spec(package)
    return spec is not None and spec.origin is not None


def _distribution_exists(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
