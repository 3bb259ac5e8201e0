"""Errors of Hydra, OmegaConf and PyYAML in our words: what is wrong with which key."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import yaml
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    ConfigTypeError,
    GrammarParseError,
    InterpolationKeyError,
    InterpolationResolutionError,
    InterpolationToMissingValueError,
    MissingMandatoryValue,
    OmegaConfBaseException,
    UnsupportedInterpolationType,
    ValidationError,
)

from convrag.api.errors import ConfigError, ConvragError, PluginError
from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL
from convrag.config.advice import advise, explain_preset, refuse_grid
from convrag.config.choices import find_stage_group
from convrag.config.command import Command
from convrag.config.keys import (
    explain_unchosen,
    explain_unknown_parameter,
    explain_unknown_place,
    explain_unknown_setting,
)
from convrag.config.settings import PRESETS
from convrag.config.yaml_files import (
    cite,
    cite_only_file,
    explain_yaml_error,
    list_chosen_files,
    read_yaml,
)
from convrag.registry.registry import Registry

HYDRA_ERRORS = (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError, RecursionError)
"""The errors that Hydra raises for a wrong configuration; a few are plain ValueErrors."""

_ODD_ERRORS = (TypeError, AttributeError, AssertionError, LookupError)
"""The errors that it raises for a list of defaults that makes no sense."""

_KEY = re.compile(r"Could not override '([^']+)'")
_MERGE = re.compile(r"Error merging override (\S+)")
_FULL_KEY = re.compile(r"full_key: (.*\S)")
_NAMED = re.compile(r"'([^']+)'")


@contextmanager
def explained(registry: Registry, overrides: Sequence[str] = ()) -> Iterator[None]:
    """Turn an error of Hydra's into one of ours. Raises ConvragError."""
    try:
        yield
    except (*HYDRA_ERRORS, *_ODD_ERRORS) as error:
        raise explain(error, registry, overrides) from error


def explain(error: Exception, registry: Registry, overrides: Sequence[str] = ()) -> ConvragError:
    """Return our error for one of Hydra's, with the file where a YAML file is to blame.

    Args:
        error: the one that was raised.
        registry: knows what could have been meant.
        overrides: those of the command.

    Returns:
        A PluginError where a plugin is to blame; else mostly a ConfigError.
    """
    command = Command.of(overrides)
    if isinstance(error, OverrideParseException):
        return _explain_parse_error(error, registry)
    if isinstance(error, yaml.MarkedYAMLError):
        return explain_yaml_error(error)
    for file in list_chosen_files(overrides):
        try:
            read_yaml(file)
        except ConfigError as unreadable:
            return unreadable
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _explain_missing_file(error, registry, command)
    if isinstance(error, RecursionError):
        problem = "this configuration's defaults, or its values, contain themselves"
        return cite_only_file(ConfigError(problem), command)
    try:
        refuse_grid(overrides, registry)
    except ConfigError as grid:
        if str(error).startswith(("Ambiguous value", "Sweep parameters")):
            return grid
    return _explain_composition(error, registry, command)


def _explain_parse_error(error: OverrideParseException, registry: Registry) -> ConfigError:
    advice = advise(error.override, registry)
    if not advice:
        lines = [line.strip() for line in error.message.splitlines() if "hydra.cc" not in line]
        text = " ".join(filter(None, lines))
        advice = re.sub(r"^\w*Exception: ", "", text) or "this is no override"
    return ConfigError(f"{error.override}: {advice}")


def _explain_missing_file(
    error: MissingConfigException, registry: Registry, command: Command
) -> ConvragError:
    """Return the error for an option that does not exist, or for a file of --config-name."""
    missing = str(error.missing_cfg_file)
    if "/" not in missing:
        where = (
            "--config-name is the name of a file NAME.yaml in the folder that --config-dir names"
        )
        problem = f"there is no configuration {missing!r}: {where}"
        return cite_only_file(ConfigError(problem), command)
    group, _, name = missing.removesuffix(".yaml").rpartition("/")
    try:
        registry.check_name(group, name)
    except PluginError as refused:
        return refused
    offered = error.options or registry.options(group)
    return cite(registry.make_unknown(group, name, offered), command)


def _explain_composition(error: Exception, registry: Registry, command: Command) -> ConvragError:
    """Return the error for an exception whose message, or whose cause, says what is wrong."""
    text = str(error)
    cause: BaseException = error
    if not isinstance(error, OmegaConfBaseException):
        # Under a debugger OmegaConf's own errors have a cause, which says less.
        cause = error.__cause__ or error.__context__ or error
    overridden = _KEY.search(text)
    if overridden and not overridden[1].startswith("hydra."):
        key = overridden[1]
        unknown = _explain_unknown_key(key, registry, cause, command)
        return cite(unknown, command, key.partition("@")[0])
    found = _FULL_KEY.search(str(cause))
    if found and isinstance(cause, (ConfigKeyError, ConfigAttributeError)):
        key = found[1]
        unknown = cite(_explain_unknown_key(key, registry, cause, command), command, key)
        return unknown if command.sets(key) else cite_only_file(unknown, command)
    if not isinstance(cause, OmegaConfBaseException):
        return cite_only_file(cite(_explain_odd_error(error), command), command)
    merged = _MERGE.search(text)
    key = merged[1] if merged else found[1] if found else ""
    plain = ConfigError(": ".join(filter(None, [key, describe_problem(cause)])))
    if isinstance(cause, _INTERPOLATION_ERRORS):
        typed = [override for override in command.overrides if "${" in override]
        if typed:
            return ConfigError(f"{typed[0]}: {plain}")
    return cite_only_file(cite(plain, command), command)


def _explain_odd_error(error: Exception) -> ConfigError:
    """Return an error of Hydra's own, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = " ".join(lines) or "this configuration cannot be composed"
    if isinstance(error, _ODD_ERRORS):
        message = f"{message} ({type(error).__name__})"
    return ConfigError(message)


_INTERPOLATION_ERRORS = (
    GrammarParseError,
    InterpolationKeyError,
    InterpolationResolutionError,
    InterpolationToMissingValueError,
    UnsupportedInterpolationType,
)


def describe_problem(error: BaseException) -> str:
    """Return what OmegaConf has against a value, in our words."""
    text = str(error).splitlines()[0] if str(error) else ""
    named = _NAMED.search(text)
    name = named[1] if named else "another key"
    match error:
        case InterpolationToMissingValueError():
            return "it refers to a value that is not given"
        case InterpolationKeyError():
            return f"it refers to {name!r}, which is not in the configuration"
        case UnsupportedInterpolationType():
            kind = text.rpartition(" ")[2]
            return f"${{{kind}:...}} is not known; ${{oc.env:NAME}} reads the environment"
        case InterpolationResolutionError() if "Environment variable" in text:
            return f"the environment variable {name!r} is not set"
        case InterpolationResolutionError() if "ecursive" in text:
            return "it refers to itself"
        case GrammarParseError() | InterpolationResolutionError():
            return "its reference ${...} cannot be read"
        case MissingMandatoryValue():
            return "a value is needed"
        case ValidationError() | ConfigTypeError():
            return "this value has the wrong type"
        case ConfigKeyError() | ConfigAttributeError():
            return "there is no such key"
        case _:
            return "this value cannot be used"


def _explain_unknown_key(
    key: str, registry: Registry, cause: BaseException, command: Command
) -> ConfigError:
    """Return the error for a key that is not there.

    Args:
        key: in Hydra's words.
        registry: knows which options have such a parameter.
        cause: OmegaConf's error, which knows where it stopped.
        command: what was typed.
    """
    typed = any(override.startswith(f"{key}=") for override in command.overrides)
    first = (key.partition("@")[2] or key).partition(".")[0]
    if typed and key in PRESETS:
        return ConfigError(explain_preset(key))
    if not typed and first in PRESETS:
        advice = "a file that sets several stages begins with '# @package _global_'"
        return cite_only_file(ConfigError(advice), command)
    if "@" in key:
        return explain_unknown_place(key, registry)
    node = getattr(cause, "parent_node", None)
    stopped_at = str(getattr(cause, "full_key", None) or key)
    place, _, name = stopped_at.rpartition(".")
    group = place.partition(".")[0]
    if group not in GROUPS or not isinstance(node, DictConfig):
        return explain_unknown_setting(key)
    is_stage = place in GROUPS or group in SEVERAL
    stage = group if is_stage else find_stage_group(place, registry)
    if stage and OPTION_KEY in node:
        option = registry.get(stage, node[OPTION_KEY])
        chosen = command.names.get(place, "")
        return explain_unknown_parameter(place, option, name, registry, chosen)
    if stage and place not in GROUPS:
        return explain_unchosen(place, stage, name)
    return ConfigError(
        f"{key}=...: {place} has no entry {name!r} yet; one more is written with a plus: +{key}=..."
    )
