"""Keeps passwords and keys out of a run's files: they are refused outside the environment."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS, OPTION_KEY
from convrag.api.secrets import (
    MASK,
    describe_secret,
    is_secret_name,
    list_held_secrets,
    note_secret,
)
from convrag.config.settings import Settings

_HYDRAS_OWN = frozenset({"overrides", "runtime", "help", "hydra_help"})
"""Keys below `hydra` that repeat other parts of the configuration, or are Hydra's own texts."""

_HEADERS = re.compile(r"(^|_)headers$", re.IGNORECASE)
"""The name of a dictionary of headers: `llm.extra.extra_headers`."""

_REFERENCE = re.compile(r"\$\{(?:[^{}]|\{[^{}]*\})*\}")
_DEFAULT = re.compile(r"\$\{oc\.env:[^,{}]*,\s*(?P<default>[^{}]*?)\s*\}")
_SCHEME = re.compile(r"[A-Za-z-]{0,16}[\s:=]*")
"""What may stand beside a reference in a header: "Bearer ${oc.env:GATE}"."""

_NOT_A_VALUE = (None, "", "???", "null", "true", "false", "''", '""')


def _make_error(key: str, what: str) -> ConfigError:
    """Make the error for a secret in the configuration; it does not repeat the value."""
    name = MASK if describe_secret(key) else key.lstrip("+~")
    way = f"{name}=MY_VARIABLE" if name.endswith("_env") else f"{name}='${{oc.env:MY_VARIABLE}}'"
    return ConfigError(
        f"{name} {what}, and a run writes its configuration into files: put it into an environment "
        f"variable, and refer to it: {way}"
    )


def refuse_secrets_in_command(arguments: Iterable[str]) -> None:
    """Raise ConfigError for an override of a command line that holds a secret."""
    held = list_held_secrets()
    for argument in arguments:
        key, equals, value = argument.partition("=")
        what = describe_secret(value if equals else argument, held) or describe_secret(key, held)
        if what:
            raise _make_error(key if equals else MASK, f"holds {what}")
        _refuse(key.lstrip("+~"), value, held)


def refuse_secrets(config: DictConfig) -> None:
    """Raise ConfigError for a value of a configuration that holds a secret.

    References are not resolved.

    Args:
        config: as Hydra composed it, with or without Hydra's own part.
    """
    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    held = list_held_secrets()
    hydra = plain.pop("hydra", None) or {}
    for key, value in plain.items():
        _refuse(str(key), value, held)
    for key, value in hydra.items():
        if key not in _HYDRAS_OWN:
            _refuse(f"hydra.{key}", value, held)


def note_headers(config: DictConfig) -> None:
    """Note the values of headers as secrets: `redact` then removes them, whatever their names."""
    for headers in _find_headers(config):
        with suppress(
            OmegaConfBaseException
        ):  # a variable is not set: it is missed where it is used
            resolved = OmegaConf.to_container(headers, resolve=True)
            for value in resolved.values() if isinstance(resolved, dict) else ():
                if value not in _NOT_A_VALUE and not isinstance(value, bool):
                    note_secret(str(value))


def _find_headers(config: DictConfig) -> Iterator[DictConfig]:
    """Yield the dictionaries of headers in a configuration."""
    for name in config:
        if not isinstance(name, str) or OmegaConf.is_missing(config, name):
            continue
        if OmegaConf.is_interpolation(config, name):
            continue
        node = config[name]
        if isinstance(node, DictConfig):
            yield from [node] if _HEADERS.search(name) else _find_headers(node)


def _is_literal(header: str) -> bool:
    """Whether the value of a header has more of its own than a reference and a scheme."""
    defaults = [found["default"] for found in _DEFAULT.finditer(header)]
    if any(default not in _NOT_A_VALUE for default in defaults):
        return True
    others = _REFERENCE.sub("", header)
    return others == header or not _SCHEME.fullmatch(others.strip())


def _refuse(
    key: str,
    value: Any,
    held: Mapping[str, str],
    *,
    loose: bool = False,
    is_header: bool = False,
) -> None:
    """Look through a value of any depth. Raises ConfigError.

    Args:
        key: its place ("llm.extra").
        value: unresolved.
        held: the environment's secrets.
        loose: whether its name was chosen by the user, below a parameter that is a dictionary.
        is_header: whether it is the value of a header, which any name may have.
    """
    name = key.rpartition(".")[2]
    if isinstance(value, Mapping):
        is_parameter = "." in key and key.partition(".")[0] in GROUPS
        has_free_names = loose or (is_parameter and OPTION_KEY not in value)
        for inner, each in value.items():
            is_inner_header = is_header or bool(_HEADERS.search(name))
            place = f"{key}.{inner}"
            _refuse(place, each, held, loose=has_free_names, is_header=is_inner_header)
    elif isinstance(value, list | tuple):
        for each in value:
            _refuse(key, each, held, loose=loose, is_header=is_header)
    elif value not in _NOT_A_VALUE and not isinstance(value, bool):
        text = str(value)
        what = describe_secret(text, held)
        if not what and is_secret_name(name, loose=loose) and "${" not in text:
            raise _make_error(key, "is named like a secret")
        if not what and is_header and _is_literal(text):
            raise _make_error(key, "is a header, which may hold a key")
        what = what or describe_secret(name, held)
        if what:
            raise _make_error(key, f"holds {what}")


def keep_references(config: DictConfig, resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Make a configuration plain data for files, logs and observers, with its references.

    `${oc.env:OPENAI_API_KEY}` stays a reference: the references of stages and users' own keys are
    not resolved, since their values may be secret. The settings are resolved, since observers use
    them (`sweep.metric`, `store.path`), unless a value shows a secret.

    Args:
        config: the configuration.
        resolved: the same as plain data, resolved.
    """
    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    settings = {field.name for field in fields(Settings)}
    held = list_held_secrets()
    return {
        str(key): _resolve_public(value, resolved[str(key)], held) if key in settings else value
        for key, value in plain.items()
    }


def _resolve_public(value: Any, resolved: Any, held: Mapping[str, str]) -> Any:
    """Return the resolved value, or the reference where the value shows a secret."""
    if isinstance(value, Mapping) and isinstance(resolved, Mapping):
        return {key: _resolve_public(each, resolved[key], held) for key, each in value.items()}
    return value if describe_secret(str(resolved), held) else resolved
