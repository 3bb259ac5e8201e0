"""Hydra's and OmegaConf's messages in our words: what was wrong with which key, and what could stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from hydra.errors import HydraException, MissingConfigException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException, ValidationError

from convrag.api.errors import ConfigError, ConvragError, PluginError, UnknownName
from convrag.api.groups import GROUPS
from convrag.config.settings import PRESETS, Settings
from convrag.registry.registry import Registry

HYDRA_ERRORS = (HydraException, OmegaConfBaseException, ValueError)  # `rewriter=1` is a bare ValueError

_KEY = re.compile(r"Could not override '([^']+)'")
_MERGE = re.compile(r"Error merging override (\S+)")
_FULL_KEY = re.compile(r"full_key: (\S+)")


@contextmanager
def explained(registry: Registry) -> Iterator[None]:
    """Turn an error of Hydra's into one of ours. Raises ConvragError."""
    try:
        yield
    except HYDRA_ERRORS as error:
        raise explain(error, registry) from error


def explain(error: Exception, registry: Registry) -> ConvragError:
    """Our error for one of Hydra's or OmegaConf's; a PluginError where a plugin is to blame for it."""
    text = str(error)
    if isinstance(error, MissingConfigException) and "/" in (error.missing_cfg_file or ""):
        return _explain_unknown_option(error, registry)
    cause = error.__cause__ or error
    if (match := _KEY.search(text)) and not match[1].startswith("hydra."):  # of its own keys Hydra speaks best
        return _unknown_key(match[1], registry)
    if isinstance(cause, (ConfigKeyError, ConfigAttributeError)) and (match := _FULL_KEY.search(str(cause))):
        return _unknown_key(match[1], registry)
    if isinstance(cause, ValidationError):
        place = _MERGE.search(text)
        return ConfigError(f"{place[1] if place else _key_in(cause)}: {str(cause).splitlines()[0]}")
    first = " ".join(line.strip() for line in text.splitlines() if line.strip())
    return ConfigError(first or type(error).__name__)


def _explain_unknown_option(error: MissingConfigException, registry: Registry) -> ConvragError:
    group, _, name = str(error.missing_cfg_file).removesuffix(".yaml").rpartition("/")
    try:
        registry.check_name(group, name)
    except PluginError as refused:
        return refused
    choices = error.options or registry.options(group)
    return UnknownName(group, name, choices, hints=[str(failure) for failure in registry.failures])


def _unknown_key(key: str, registry: Registry) -> ConfigError:
    group, _, name = key.partition(".")
    if "@" in key:
        return _unknown_place(key, registry)
    if not name and group in PRESETS:
        return ConfigError(f"{group}=... chooses options of several groups, and is written with a plus: +{group}=...")
    if not name or group not in GROUPS:
        return UnknownName("option", group, [*GROUPS, *(field.name for field in fields(Settings))])
    return _unknown_parameter(group, group, name, registry)


def _unknown_parameter(place: str, group: str, name: str, registry: Registry) -> ConfigError:
    """`name` is no parameter of the stage at a place ("rewriter.clusterer"), which is of a group."""
    stage, _, inner = name.partition(".")
    if inner and (injected := registry.injected_groups(group).get(stage)):
        return _unknown_parameter(f"{place}.{stage}", injected, inner, registry)
    parameters = {option.name: option.list_parameters() for option in registry.options(group).values()}
    takers = [option for option, names in parameters.items() if name in names]
    known = sorted({parameter for names in parameters.values() for parameter in names})
    hint = f"{place}.{name} belongs to {', '.join(f'{place}={taker}' for taker in takers)}." if takers else ""
    what = f"the chosen {place} has no such parameter:"
    return UnknownName(what, name, [] if takers else known, hints=[hint] if hint else ())


def _unknown_place(key: str, registry: Registry) -> ConfigError:
    """A stage is chosen ("clusterer@rewriter.clusterer") for one that takes none."""
    wanted, _, place = key.partition("@")
    group, _, name = place.partition(".")
    if group not in GROUPS:
        return UnknownName("option", group, GROUPS)
    takers = [option.name for option in registry.options(group).values() if name in option.injected_groups()]
    choices = ", ".join(f"{group}={taker}" for taker in takers) or "no option"
    return ConfigError(f"{place}=...: the chosen {group} takes no {wanted} of its own. It belongs to {choices}.")


def _key_in(error: Exception) -> str:
    match = _FULL_KEY.search(str(error))
    return match[1] if match else "configuration"
