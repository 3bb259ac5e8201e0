"""The names of a new plugin: its package, distribution, option and class, and the checks of them."""

from __future__ import annotations

import keyword
import re
import sys
from importlib import metadata
from importlib.util import find_spec

from convrag import ConfigError
from convrag.sdk.groups import GROUPS
from convrag.sdk.tasks.options import plugins, variants

_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_package(package: str) -> None:
    """Raise ConfigError where a name is not valid for a package, or is taken."""
    place = f"task.package={package}"
    if not _is_package_name(package):
        cleaned = "".join(sign if sign.isalnum() and sign.isascii() else "_" for sign in package.lower()).strip("_")
        suggestion = f": {cleaned}" if _is_package_name(cleaned) else ""
        raise ConfigError(
            f"{place} cannot be imported: a package's name has lower-case letters, digits and underscores, begins with "
            f"a letter and is no word of Python's{suggestion}"
        )
    if package in sys.stdlib_module_names or package == plugins.FIRST_PARTY or _can_be_imported(package):
        raise ConfigError(f"{place} is taken: a module of this name is installed. Choose another one")
    if _is_installed(make_distribution_name(package)):
        raise ConfigError(f"{place} is taken: {make_distribution_name(package)} is installed. Choose another one")


def check_option(stage: str, option: str) -> None:
    """Raise ConfigError where a name is not valid for an option, or is taken."""
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


def make_distribution_name(package: str) -> str:
    """The name under which a package is published, and that of its folder: never the package's own.

    Where a folder has the name of the package in it, Python imports the folder instead of the package if it is started
    beside the folder.
    """
    dashed = package.replace("_", "-")
    return dashed if dashed != package else f"convrag-{package}"


def make_class_name(option: str, stage: str) -> str:
    """The name of the class: AcmeRewriter, both for the rewriter `acme_rewriter` and for the rewriter `acme`."""
    words = [word for word in option.replace("-", "_").split("_") if word]
    kind = "LLM" if stage == "llm" else stage.capitalize()
    if words[-1].lower() == stage:
        words = words[:-1]
    return "".join(word[:1].upper() + word[1:] for word in words) + kind


def _is_package_name(package: str) -> bool:
    plain = package.isidentifier() and package.isascii() and package == package.lower()
    return plain and not package.startswith("_") and not keyword.iskeyword(package)


def _can_be_imported(package: str) -> bool:
    """Whether there is a module of this name; a folder without Python files in the working folder does not count."""
    spec = find_spec(package)
    return spec is not None and spec.origin is not None


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
