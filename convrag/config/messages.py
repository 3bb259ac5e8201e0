"""Hydra's and OmegaConf's messages in our words: what was wrong with which key, and what could stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException, ValidationError

from convrag.api.errors import ConfigError, ConvragError, PluginError, UnknownName
from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL
from convrag.config.command import Command
from convrag.config.grammar import explain_choice, explain_override
from convrag.config.known_keys import UnknownKey, explain_unchosen, explain_unknown_parameter, explain_unknown_setting
from convrag.config.settings import PRESETS
from convrag.config.stage_choices import stage_at
from convrag.config.yaml_files import files_read
from convrag.config.yaml_places import find_choice, find_key
from convrag.registry.registry import Registry

HYDRA_ERRORS = (HydraException, OmegaConfBaseException, ValueError, RecursionError)
"""What Hydra raises for a configuration that is wrong. `rewriter=1` is a bare ValueError."""

_KEY = re.compile(r"Could not override '([^']+)'")
_DELETED = re.compile(r"Could not delete (?:from config\. )?'([^']+)'")
_MERGE = re.compile(r"Error merging override (\S+)")
_FULL_KEY = re.compile(r"full_key: (\S+)")
_IN_FILE = re.compile(r"In '?([\w./-]+)'?: |defaults list in '([\w./-]+)'|primary config '([\w./-]+)'")
_SEVERAL = re.compile(r"(?:Ambiguous value for argument|Sweep parameters) '(.+?)'(?: requires|\n|$)")
_BEGINNING = re.compile(r"([A-Za-z_][\w.]*)[=:]")

Error = TypeVar("Error", bound=ConvragError)


@contextmanager
def explained(registry: Registry, overrides: Sequence[str] = ()) -> Iterator[None]:
    """Turn an error of Hydra's into one of ours. Raises ConvragError."""
    try:
        yield
    except HYDRA_ERRORS as error:
        raise explain(error, registry, overrides) from error


def explain(error: Exception, registry: Registry, overrides: Sequence[str] = ()) -> ConvragError:
    """Our error for one of Hydra's or OmegaConf's, with file and line where a YAML file is to blame.

    Args:
        error: what was raised.
        registry: knows what could have been meant.
        overrides: of the command.

    Returns:
        A PluginError where a plugin is to blame; else mostly a ConfigError.
    """
    if isinstance(error, OverrideParseException):
        return explain_override(error.override, error.message, registry)
    if chosen := explain_choice(overrides, registry):
        return chosen
    if isinstance(error, MissingConfigException) and (name := error.missing_cfg_file):
        if "/" in name:
            return _explain_unknown_option(error, registry)
        where = "--config-name is the name of a file NAME.yaml in the folder that --config-dir names"
        return ConfigError(f"there is no configuration {name!r}: {where}")
    if isinstance(error, RecursionError):
        return _in_file(
            ConfigError("the defaults of this configuration, or its values, contain themselves"), str(error)
        )
    text, command = str(error), Command.of(overrides)
    cause = error.__cause__ or (error.__context__ if isinstance(error, ConfigCompositionException) else None) or error
    if match := _SEVERAL.search(text):
        return _explain_several(match[1])
    if (match := _DELETED.search(text)) and match[1] in SEVERAL:
        return ConfigError(f"~{match[1]}: this cannot be taken away; none at all is {match[1]}=[]")
    if (match := _KEY.search(text)) and not match[1].startswith("hydra."):  # of its own keys Hydra speaks best
        return _unknown_key(match[1], registry, cause, command)
    if isinstance(cause, (ConfigKeyError, ConfigAttributeError)) and (match := _FULL_KEY.search(str(cause))):
        return add_place(_unknown_key(match[1], registry, cause, command))
    if isinstance(cause, ValidationError):
        place = _MERGE.search(text)
        key = place[1] if place else _key_in(cause)
        wrong = ConfigError(f"{key}: {str(cause).splitlines()[0]}")
        return wrong if place else _in_file(add_place(wrong), text)
    return _in_file(add_place(_plain_error(error, cause, text)), text)


def add_place(error: Error, command: Command | None = None) -> Error:
    """The error, with the file and the line before it that set the key which it is about; as it is where none did.

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
    return error


def _in_file(error: Error, text: str) -> Error:
    """The error, with the file before it that a message of Hydra's speaks of ("In 'seed/mine': ...")."""
    match = _IN_FILE.search(text)
    file = files_read.find(next(filter(None, match.groups()))) if match else None
    if file is None or file.path in str(error):
        return error
    error.args = (_IN_FILE.sub("", str(error), count=1),)
    return _begin(error, file.path)


def _begin(error: Error, place: str) -> Error:
    error.args = (f"{place}: {error}",)
    return error


def _plain_error(error: Exception, cause: BaseException, text: str) -> ConfigError:
    if isinstance(cause, OmegaConfBaseException):
        key = _key_in(cause)
        return ConfigError(f"{key}: {str(cause).splitlines()[0]}" if key else str(cause).splitlines()[0])
    first = " ".join(line.strip() for line in text.splitlines() if line.strip())
    return ConfigError(first or type(error).__name__)


def _explain_unknown_option(error: MissingConfigException, registry: Registry) -> ConvragError:
    group, _, name = str(error.missing_cfg_file).removesuffix(".yaml").rpartition("/")
    try:
        registry.check_name(group, name)
    except PluginError as refused:
        return refused
    choices = error.options or registry.options(group)
    unknown = UnknownName(group, name, choices, hints=[str(failure) for failure in registry.failures])
    for file in files_read:
        if where := find_choice(file.text, group, name):
            return _begin(unknown, f"{file.path}, {where}")
    return _in_file(unknown, str(error))


def _explain_several(override: str) -> ConfigError:
    key, _, value = override.partition("=")
    return ConfigError(
        f"{override}: several values make a grid, which needs -m (--multirun): -m {override}. "
        f"One value that is a list is written {key}=[{value}]"
    )


def _unknown_key(key: str, registry: Registry, cause: BaseException, command: Command) -> ConfigError:
    """The error for a key that is not there; `cause` is OmegaConf's, which knows where it stopped."""
    if "@" in key:
        return _unknown_place(key, registry)
    if key in PRESETS:
        return ConfigError(f"{key}=... chooses options of several groups, and is written with a plus: +{key}=...")
    node, stopped = getattr(cause, "parent_node", None), str(getattr(cause, "full_key", None) or key)
    place, _, name = stopped.rpartition(".")
    if place.partition(".")[0] not in GROUPS or not isinstance(node, DictConfig):
        return explain_unknown_setting(key)
    group = place.partition(".")[0]
    group = group if place in GROUPS or group in SEVERAL else stage_at(place, registry) or ""
    if OPTION_KEY in node:
        option = registry.get(group, node[OPTION_KEY])
        return explain_unknown_parameter(place, option, name, registry, command.names.get(place, ""))
    if not group:
        return ConfigError(f"{key}=...: {place} has no entry {name!r} yet; one more is written with a plus: +{key}=...")
    return explain_unchosen(place, group, name, registry)


def _unknown_place(key: str, registry: Registry) -> ConfigError:
    """A stage is chosen ("clusterer@rewriter.clusterer") for one that takes none."""
    wanted, _, place = key.partition("@")
    group, _, name = place.partition(".")
    if group not in GROUPS:
        return UnknownName("option", group, GROUPS)
    takers = [option.name for option in registry.options(group).values() if name in option.injected_groups()]
    choices = ", ".join(f"{group}={taker}" for taker in takers) or "no option"
    return ConfigError(f"{place}=...: the chosen {group} takes no {wanted} of its own. It belongs to {choices}.")


def _key_in(error: BaseException) -> str:
    match = _FULL_KEY.search(str(error))
    return match[1] if match else ""
