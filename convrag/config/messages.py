"""Hydra's and OmegaConf's messages in our words: what was wrong with which key, and what could stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException, ValidationError

from convrag.api.errors import ConfigError, ConvragError, PluginError, UnknownName
from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL
from convrag.config.citing import cite_default, cite_file, cite_flat, cite_key, cite_last, explain_head
from convrag.config.command import Command
from convrag.config.grammar import explain_override
from convrag.config.known_keys import explain_unchosen, explain_unknown_parameter, explain_unknown_setting
from convrag.config.settings import PRESETS
from convrag.config.stage_choices import Kind, find_place, stage_at
from convrag.registry.registry import Registry

HYDRA_ERRORS = (HydraException, OmegaConfBaseException, ValueError, RecursionError)
"""What Hydra raises for a configuration that is wrong. A few are bare ValueErrors."""

_KEY = re.compile(r"Could not override '([^']+)'")
_DELETED = re.compile(r"Could not delete (?:from config\. )?'([^']+)'")
_MERGE = re.compile(r"Error merging override (\S+)")
_FULL_KEY = re.compile(r"full_key: (.*\S)")
_SEVERAL = re.compile(r"(?:Ambiguous value for argument|Sweep parameters) '(.+?)'(?: requires|\n|$)")
_TWICE = re.compile(r"Multiple values for ([\w/]+)\.")
_NO_PLACE = "_dummy_"
"""What Hydra calls the key of an interpolation in a list of defaults."""


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
    if isinstance(error, MissingConfigException) and (name := error.missing_cfg_file):
        if "/" in name:
            return _explain_unknown_option(error, registry)
        where = "--config-name is the name of a file NAME.yaml in the folder that --config-dir names"
        unknown = ConfigError(f"there is no configuration {name!r}: {where}")
        return cite_default(unknown, lambda default: default.path == name)
    if isinstance(error, RecursionError):
        return cite_last(ConfigError("the defaults of this configuration, or its values, contain themselves"))
    return _explain_text(error, registry, Command.of(overrides))


def _explain_text(error: Exception, registry: Registry, command: Command) -> ConvragError:
    """The error for one of which only the message says what is wrong, or its cause."""
    text = str(error)
    cause = error.__cause__ or (error.__context__ if isinstance(error, ConfigCompositionException) else None) or error
    if match := _SEVERAL.search(text):
        return _explain_several(match[1])
    if (match := _DELETED.search(text)) and match[1] in SEVERAL:
        return ConfigError(f"~{match[1]}: this cannot be taken away; none at all is {match[1]}=[]")
    if match := _TWICE.search(text):
        group = match[1]
        again = ConfigError(f"{group} has been chosen already: '- override /{group}: NAME' chooses another")
        return cite_default(again, lambda default: default.group == group)
    if (match := _KEY.search(text)) and not match[1].startswith("hydra."):  # of its own keys Hydra speaks best
        key, group = match[1], match[1].partition("@")[0].rpartition("/")[2]
        if command.sets(key):
            return _unknown_key(key, registry, cause, command)
        wrong = explain_head(key.partition("@")[2]) or _unknown_key(key, registry, cause, command)
        return cite_default(wrong, lambda default: default.group == group)
    if isinstance(cause, (ConfigKeyError, ConfigAttributeError)) and (match := _FULL_KEY.search(str(cause))):
        wrong = explain_head(match[1]) or _unknown_key(match[1], registry, cause, command)
        return cite_key(wrong, command)
    if isinstance(cause, ValidationError) and (match := _MERGE.search(text)):
        return ConfigError(f"{match[1]}: {str(cause).splitlines()[0]}")
    return _cite_any(_plain_error(cause if isinstance(cause, OmegaConfBaseException) else error), text, command)


def _cite_any(error: ConfigError, text: str, command: Command) -> ConfigError:
    """The error, with the best place that is known."""
    typed = next((override for override in command.overrides if "${" in override), "")
    if typed and "nterpolation" in str(error):
        return ConfigError(f"{typed}: {error}")
    if str(error).startswith(("Merge error", "Cannot merge")):
        error = cite_flat(error)
    if "nterpolation" in str(error):
        error = cite_default(cite_key(error), lambda default: "${" in default.name)
    return cite_file(cite_key(error), text)


def _plain_error(error: BaseException) -> ConfigError:
    """The message in a line, with the key before it where it has one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, OmegaConfBaseException):
        match = _FULL_KEY.search(str(error))
        key = f"{match[1]}: " if match and match[1] != _NO_PLACE and not match[1].startswith("object_type=") else ""
        return ConfigError(f"{key}{lines[0] if lines else type(error).__name__}")
    return ConfigError(" ".join(lines) or type(error).__name__)


def _explain_unknown_option(error: MissingConfigException, registry: Registry) -> ConvragError:
    missing = str(error.missing_cfg_file).removesuffix(".yaml")
    group, _, name = missing.rpartition("/")
    try:
        registry.check_name(group, name)
    except PluginError as refused:
        return refused
    last = group.rpartition("/")[2]
    if "/" in group and last in GROUPS:  # a preset's folder stands before it
        unknown: ConfigError = ConfigError(f"a group begins with a slash here: '- override /{last}: {name}'")
        return cite_file(cite_default(unknown, lambda default: default.path == f"{last}/{name}"), str(error))
    unknown = registry.make_unknown(group, name, error.options or registry.options(group))
    return cite_file(cite_default(unknown, lambda default: default.path in (missing, name)), str(error))


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
    group = place.partition(".")[0]
    if group not in GROUPS or not isinstance(node, DictConfig):
        return explain_unknown_setting(key)
    at = group if place in GROUPS or group in SEVERAL else stage_at(place, registry)
    if OPTION_KEY in node and at:
        option = registry.get(at, node[OPTION_KEY])
        return explain_unknown_parameter(place, option, name, registry, command.names.get(place, ""))
    if place in GROUPS:
        return ConfigError(f"{key}: in YAML this is two lines: '{place}:', and below it, indented, '{name}: ...'")
    if at:
        return explain_unchosen(place, at, name, registry)
    if (found := find_place(place, registry)) and found.kind is Kind.STAGES:
        stages = f"it has {', '.join(map(str, node))}" if node else "it has none yet"
        return ConfigError(f"{key}=...: {place} has no stage {name!r}; {stages}. One more: {place}.{name}=OPTION")
    return ConfigError(f"{key}=...: {place} has no entry {name!r} yet; one more is written with a plus: +{key}=...")


def _unknown_place(key: str, registry: Registry) -> ConfigError:
    """A stage is chosen ("clusterer@rewriter.clusterer") for one that takes none."""
    wanted, _, place = key.partition("@")
    group, _, name = place.partition(".")
    if (last := wanted.rpartition("/")[2]) != wanted and last in GROUPS:
        return ConfigError(f"{wanted}: a group begins with a slash here: '- override /{last}: NAME'")
    if group not in GROUPS:
        return UnknownName("option", group, GROUPS)
    takers = [option.name for option in registry.options(group).values() if name in option.injected_groups()]
    choices = ", ".join(f"{group}={taker}" for taker in takers) or "no option"
    return ConfigError(f"{place}=...: the chosen {group} takes no {wanted} of its own. It belongs to {choices}.")
