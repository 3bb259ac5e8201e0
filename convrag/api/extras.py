"""Which libraries are installed, found out without importing them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from convrag.api.errors import MissingExtra


def is_installed(module: str) -> bool:
    """Whether a module could be imported; of a dotted name, the packages above it are imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # there is no package above it
        return False


def missing_extra(requires: Mapping[str, str], needed_by: str) -> MissingExtra | None:
    """What to say of modules that are not installed; None where all are.

    Args:
        requires: module -> what to install for it (see `Stage.requires`).
        needed_by: who needs them ("llm=litellm").
    """
    absent = [module for module in requires if not is_installed(module)]
    if not absent:
        return None
    return MissingExtra(" and ".join(absent), " ".join(dict.fromkeys(requires[each] for each in absent)), needed_by)
