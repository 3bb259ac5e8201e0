"""Hydra's and OmegaConf's messages in our words: what was wrong with which key, and what could stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from hydra.errors import HydraException, MissingConfigException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException, ValidationError

from convrag.api.errors import ConfigError, UnknownName
from convrag.api.groups import GROUPS
from convrag.config.settings import PRESETS, Settings
from convrag.registry.registry import Registry

HYDRA_ERRORS = (HydraException, OmegaConfBaseException, ValueError)  # `rewriter=1` is a bare ValueError

_KEY = re.compile(r"Could not override '([^']+)'")
_MERGE = re.compile(r"Error merging override (\S+)")
_FULL_KEY = re.compile(r"full_key: (\S+)")


@contextmanager
def explained(registry: Registry) -> Iterator[None]:
    """Turn an error of Hydra's into a ConfigError."""
    try:
        yield
    except HYDRA_ERRORS as error:
        raise explain(error, registry) from error


def explain(error: Exception, registry: Registry) -> ConfigError:
    """Our message for an error of Hydra's or OmegaConf's."""
    text = str(error)
    if isinstance(error, MissingConfigException) and "/" in (error.missing_cfg_file or ""):
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        choices = error.options or registry.options(group)
        return UnknownName(group, name.removesuffix(".yaml"), choices, hints=[str(f) for f in registry.failures])
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


def _unknown_key(key: str, registry: Registry) -> ConfigError:
    group, _, name = key.partition(".")
    if not name and group in PRESETS:
        return ConfigError(f"{group}=... chooses options of several groups, and is written with a plus: +{group}=...")
    if not name:
        known = [*GROUPS, *(field.name for field in fields(Settings))]
        return UnknownName("option", key, known)
    if group not in GROUPS:
        return UnknownName("option", group, [*GROUPS, *(field.name for field in fields(Settings))])
    takers = [option.name for option in registry.options(group).values() if name in option.configurable]
    known = sorted({parameter for option in registry.options(group).values() for parameter in option.configurable})
    hint = f"{group}.{name} belongs to {', '.join(f'{group}={taker}' for taker in takers)}." if takers else ""
    what = f"the chosen {group} has no such parameter:"
    return UnknownName(what, name, [] if takers else known, hints=[hint] if hint else ())


def _key_in(error: Exception) -> str:
    match = _FULL_KEY.search(str(error))
    return match[1] if match else "configuration"
