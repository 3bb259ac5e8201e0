"""Which convrag a plugin was made for: its distribution's requirement, `convrag>=0.2,<0.3`, read without importing it.

pip checks the same line when it installs the plugin; it is broken where convrag is installed anew afterwards.
"""

from __future__ import annotations

import ast
import re
from importlib import metadata

from convrag.api.errors import PluginError
from convrag.registry.module_source import WrongPath, read_module
from convrag.registry.origin import FIRST_PARTY, Origin

_NAME = re.compile(r"\s*convrag\s*(?![\w.-])", re.IGNORECASE)


def find_unmet_requirement(distribution: metadata.Distribution | None) -> str:
    """Return the versions of convrag that a distribution is made for ("<0.3,>=0.2"); empty where this is one of them.

    Args:
        distribution: the plugin's; None where it has none.
    """
    lines = (distribution.requires or []) if distribution else []
    for line in lines:
        if not _NAME.match(line):  # most lines name other distributions, and packaging takes a while to import
            continue
        from packaging.requirements import InvalidRequirement, Requirement

        try:
            requirement = Requirement(line)
        except InvalidRequirement:  # pip says so
            continue
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        if not requirement.specifier.contains(metadata.version(FIRST_PARTY), prereleases=True):
            return str(requirement.specifier)
    return ""


def refuse_other_versions(origin: Origin, entry_point: metadata.EntryPoint) -> PluginError | None:
    """Return the error for a plugin that was made for other versions of convrag than this one; None for any other."""
    if origin.distribution == FIRST_PARTY or not (wanted := find_unmet_requirement(entry_point.dist)):
        return None
    name, installed = origin.distribution, metadata.version(FIRST_PARTY)
    return origin.error(
        f"{origin.version} was made for convrag {wanted}, and this is convrag {installed}: install another version "
        f"of {name} (pip install -U {name}) or of convrag, or leave it out: CONVRAG_DISABLE_PLUGINS={name}"
    )


def find_registered_names(module: str) -> list[tuple[str, str]]:
    """Return (group, name) of each `register("rewriter", "acme", ...)` in the text of a module that is not imported.

    Those that the text does not say plainly are absent.
    """
    try:
        text = read_module(module)
        tree = ast.parse(text or "")
    except (WrongPath, SyntaxError, ValueError):
        return []
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="register"), args=[ast.Constant(str(group)), ast.Constant(str(name)), *_]):
                found.append((group, name))
    return found
