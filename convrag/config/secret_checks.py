"""Refuses a password or a key in a configuration, before any of it is written: it belongs into the environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS, OPTION_KEY
from convrag.api.secrets import MASK, describe_secret, is_secret_name, list_held_secrets
from convrag.registry import plugins

_HYDRAS_OWN = frozenset({"overrides", "runtime", "help", "hydra_help"})
"""Keys below `hydra` that repeat what stands elsewhere, or are Hydra's own texts."""

_VALUE_OF = "holds the value of "
_NOT_A_VALUE = (None, "", "???")


class SecretInConfig(ConfigError):
    """A password or a key stands in the configuration. The message names the option and does not repeat the value."""

    def __init__(self, key: str, what: str) -> None:
        name = MASK if describe_secret(key) else key.lstrip("+~")
        variable = what.removeprefix(_VALUE_OF) if what.startswith(_VALUE_OF) else "MY_VARIABLE"
        taker = _find_name_parameter(name)
        way = f"name it: {taker}={variable}" if taker else f"refer to it: {name}='${{oc.env:{variable}}}'"
        first = "" if variable in what else "put it into an environment variable, and "
        super().__init__(f"{name} {what}, and a run writes its configuration into files: {first}{way}")


def refuse_secrets_in_command(arguments: Iterable[str]) -> None:
    """Raise SecretInConfig for a command line's override, a sweep of several values included, that holds a secret."""
    held = list_held_secrets()
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if what := describe_secret(value if equals else argument, held) or describe_secret(key, held):
            raise SecretInConfig(key if equals else MASK, f"holds {what}")
        if equals:
            _refuse(key.lstrip("+~"), list(_read_values(argument)), held)


def refuse_secrets(config: DictConfig) -> None:
    """Raise SecretInConfig for a value of a configuration that holds a secret; references stay what they are.

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


def _refuse(key: str, value: Any, held: Mapping[str, str], *, loose: bool = False) -> None:
    """Look through a value of any depth.

    Args:
        key: where it stands ("llm.extra").
        value: unresolved.
        held: the environment's secrets.
        loose: whether its name was chosen by the user, below a parameter that is a dictionary.
    """
    name = key.rpartition(".")[2]
    if isinstance(value, Mapping):
        free = loose or (key.count(".") > 0 and OPTION_KEY not in value and key.partition(".")[0] in GROUPS)
        for inner, each in value.items():
            _refuse(f"{key}.{inner}", each, held, loose=free)
    elif isinstance(value, list | tuple):
        for each in value:
            _refuse(key, each, held, loose=loose)
    elif value not in _NOT_A_VALUE and not isinstance(value, bool):
        text = str(value)
        what = describe_secret(text, held)
        if not what and is_secret_name(name, loose=loose) and "${" not in text:
            raise SecretInConfig(key, "is named like a secret")
        if what or (what := describe_secret(name, held)):
            raise SecretInConfig(key, f"holds {what}")


def _find_name_parameter(key: str) -> str:
    """The parameter that takes a variable's name in place of this one (llm.api_base_env); empty where there is none."""
    group, name = key.partition(".")[0], key.rpartition(".")[2]
    wanted = name if name.endswith("_env") else f"{name}_env"
    options = plugins.load().registry.options(group).values() if group in GROUPS else ()
    return f"{group}.{wanted}" if any(wanted in option.list_parameters() for option in options) else ""


def _read_values(argument: str) -> Iterator[Any]:
    """The values of an override, as Hydra reads them; none where it cannot, which it says itself."""
    try:
        override = OverridesParser.create().parse_override(argument)
        yield from _list_values(override)
    except (HydraException, ValueError, RecursionError):
        return


def _list_values(override: Override) -> Sequence[Any]:
    value = override.value()
    if not isinstance(value, ChoiceSweep):
        return [value]
    return [each.text if isinstance(each, QuotedString) else each for each in value.list]
