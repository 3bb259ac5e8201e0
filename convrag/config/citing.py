"""The file, the line and the column of a user's or a plugin's YAML that an error is about, put before its message."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from convrag.api.errors import ConfigError, ConvragError
from convrag.api.groups import GROUPS
from convrag.config.command import Command
from convrag.config.known_keys import UnknownKey
from convrag.config.yaml_files import files_read
from convrag.config.yaml_places import Default, find_default, find_flat, find_key

_BEGINNING = re.compile(r"([A-Za-z_][\w.]*)(?:[=:]| must be )")
_FILE = re.compile(r"In '?([\w./-]+)'?: |defaults list in '([\w./-]+)'|primary config '([\w./-]+)'")
_SECTIONS = frozenset({*GROUPS, "store", "sweep", "hydra"})

Error = TypeVar("Error", bound=ConvragError)


def cite_key(error: Error, command: Command | None = None) -> Error:
    """Cite where the key stands that an error is about; an error about nothing in a file stays as it is.

    Args:
        error: its message begins with the key ("rewriter.n=x: ..."), or it has one (see `UnknownKey`).
        command: what it sets itself is in no file.
    """
    match = _BEGINNING.match(str(error))
    key = error.key if isinstance(error, UnknownKey) else match[1] if match else ""
    if not key or not isinstance(error, ConfigError) or (command and command.sets(key)):
        return error
    for file in reversed([*files_read]):
        if where := find_key(file.text, file.place, key):
            return _begin(error, f"{file.path}, {where}")
    return cite_default(error, lambda default: default.place == key)


def cite_default(error: Error, wanted: Callable[[Default], bool]) -> Error:
    """Cite the first wanted entry of a file's list of defaults."""
    for file in files_read:
        if where := find_default(file.text, wanted):
            return _begin(error, f"{file.path}, {where}")
    return error


def cite_flat(error: Error) -> Error:
    """Cite the key that must have keys below it and has none, or the file that names a wrong package; say so."""
    for file in files_read:
        key, where = find_flat(file.text, _SECTIONS) if not file.place else ("", "")
        if key:
            choice = f". An option is chosen in the defaults: '- override /{key}: NAME'" if key in GROUPS else ""
            error.args = (f"{key}: its settings stand below it, indented{choice}",)
            return _begin(error, f"{file.path}, {where}")
        if (group := file.name.partition("/")[0]) in GROUPS and file.place.partition(".")[0] != group:
            error.args = (f"the keys of a file in {group}/ belong to the {group}; leave out its line '# @package'",)
            return _begin(error, f"{file.path}, line 1")
    return error


def cite_file(error: Error, text: str) -> Error:
    """Cite the file that a message of Hydra's speaks of ("In 'seed/mine': ...")."""
    match = _FILE.search(text)
    if match and (file := files_read.find(next(filter(None, match.groups())))):
        error.args = (_FILE.sub("", str(error), count=1),)
        return _begin(error, file.path)
    return error


def cite_last(error: Error) -> Error:
    """Cite the file that was read last: where files name each other in a circle, it is one of them."""
    files = [*files_read]
    return _begin(error, files[-1].path) if files else error


def explain_head(place: str) -> ConfigError | None:
    """The error for a file whose first line does not say where its keys belong; None where all do.

    Args:
        place: where its keys would stand ("seed"), which is no stage and no setting.
    """
    top = place.partition(".")[0]
    for file in files_read:
        if top and top not in GROUPS and file.place.partition(".")[0] == top:
            return ConfigError(
                f"{file.path}, line 1: a file that sets several stages begins with '# @package _global_'"
            )
    return None


def _begin(error: Error, place: str) -> Error:
    if not any(str(error).startswith(file.path) for file in files_read):
        error.args = (f"{place}: {error}",)
    return error
