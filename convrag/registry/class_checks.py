"""What a class must be so that a group can offer it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping

from convrag.api.groups import GROUPS


def is_imported(path: str) -> bool:
    """Whether the class that a path names is there already."""
    module, _, name = path.partition(":")
    return hasattr(sys.modules.get(module), name)


def explain_refusal(cls: object, group: str) -> str:
    """Why a group cannot offer something; empty where it can."""
    stage = GROUPS[group]
    if not (inspect.isclass(cls) and issubclass(cls, stage)):
        return f"{cls!r} is no subclass of convrag.{stage.__name__}"
    if (wrong := find_malformed(cls.requires)) is not None:
        return f'{wrong} in requires is no module and what to install for it: {{"torch": "acme[gpu]"}}'
    if missing := sorted(getattr(cls, "__abstractmethods__", ())):
        return f"{cls.__name__} lacks the method {missing[0]}"
    return ""


def find_malformed(requires: object) -> object:
    """What cannot stand in `Stage.requires`; None where all can. Modules are named as they are imported."""
    if not isinstance(requires, Mapping):
        return repr(requires)
    for module, install in requires.items():
        if not isinstance(install, str) or not all(part.isidentifier() for part in str(module).split(".")):
            return repr(module)
    return None
