"""Advises what to type instead of an impossible override, before overrides are composed."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS, SEVERAL
from convrag.config.choices import is_sweep
from convrag.config.command import Command
from convrag.config.settings import PRESETS, list_parameters
from convrag.config.variants import default_options, variants
from convrag.registry.parameters import Parameter
from convrag.registry.registry import Registry
from convrag.registry.values import check_value

_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf|nan"
_NOT_A_NAME = re.compile(rf"{_NUMBER}|null|true|false", re.IGNORECASE)

MAX_KEY_BYTES = 255
"""The longest key; Hydra looks for a file of that name, and file systems take no longer ones."""


def check_choices(overrides: Iterable[str], registry: Registry) -> None:
    """Raise ConfigError for an override that does not choose one option of a group.

    Such are `rewriter=[mmr,dhrag]`, which chooses two, and `rewriter=3`, which chooses none.
    """
    for override in overrides:
        key, equals, value = override.lstrip("+").partition("=")
        if not key:
            raise ConfigError(f"{override}: {advise(override, registry)}")
        if len(key.encode()) > MAX_KEY_BYTES:
            raise ConfigError(
                f"{key[:40]}...: a key has at most {MAX_KEY_BYTES} characters, and this one has "
                f"{len(key)}"
            )
        if override.startswith("+") and key in GROUPS:
            raise ConfigError(f"{override}: a {key} is chosen without a plus: {key}={value}")
        if equals and key in PRESETS and not override.startswith("+"):
            raise ConfigError(explain_preset(key))
        group = key.partition("@")[0]
        if group in GROUPS:
            _check_choice(override, key, value, registry)


def explain_preset(group: str) -> str:
    """Return how an option of a group of presets is chosen."""
    return (
        f"{group}=... chooses options of several groups, and is written with a plus: +{group}=..."
    )


def _check_choice(override: str, key: str, value: str, registry: Registry) -> None:
    group = key.partition("@")[0]
    names = [name.strip() for name in value.strip("[] ").split(",")]
    if any(_NOT_A_NAME.fullmatch(name) for name in names):
        options = ", ".join(registry.options(group))
        raise ConfigError(f"{override}: an option has a name; choose from: {options}")
    if group not in SEVERAL and value.startswith("[") and len(names) > 1:
        grid = f"-m {key}={value.strip('[] ')}"
        raise ConfigError(
            f"{override}: a run has one {group}. A grid has one after the other: {grid}"
        )


def refuse_grid(overrides: Iterable[str], registry: Registry) -> None:
    """Raise ConfigError for an override of a single run that has the values of a grid."""
    overrides = list(overrides)
    for override in overrides:
        key, _, value = override.lstrip("+").partition("=")
        is_cut_off = value.endswith(",")
        if key.startswith("hydra.") or is_cut_off or not is_sweep(value):
            continue
        advice = f"several values make a grid, which needs -m (--multirun): -m {override}"
        if _takes_list(key, value, overrides, registry):
            advice += f". One value that is a list is written {key}=[{value}]"
        raise ConfigError(f"{override}: {advice}")


def _takes_list(key: str, value: str, overrides: list[str], registry: Registry) -> bool:
    """Whether `key=[a,b]` is a value of the key where `a,b` is typed."""
    if "(" in value:
        return False
    if key in SEVERAL:
        return True
    parameter = _find_parameter(key, overrides, registry)
    if parameter is None or parameter.group:
        return False
    try:
        check_value([item.strip() for item in value.split(",")], parameter, key)
    except ConfigError:
        return False
    return True


def _find_parameter(key: str, overrides: list[str], registry: Registry) -> Parameter | None:
    """Return the setting of this name, or the parameter of the chosen option; None for others."""
    settings = list_parameters()
    if key in settings:
        return settings[key]
    group, _, name = key.partition(".")
    if group not in GROUPS:
        return None
    chosen = Command.of(overrides).names.get(group) or default_options().get(group, "")
    option = registry.options(group).get(chosen)
    if option is None or name not in option.list_parameters():
        return None
    return option.parameters[name]


def advise(argument: str, registry: Registry) -> str:
    """Return what to type instead of an argument; empty where only Hydra knows what is wrong."""
    key, equals, value = argument.partition("=")
    if not equals:
        return _advise_on_word(argument.strip().lstrip("-+~"), registry)
    if not key.strip("+~ "):
        return "the key is missing before '='. An override is written key=value"
    if key != key.strip() or value != value.lstrip():
        return f"an override has no blanks beside '=': {key.strip()}={value.strip()}"
    if value.endswith(","):
        return f"there are no blanks between values: {key}={value}NAME"
    has_signs = any(sign in value for sign in "=;:{}[]()'\"\\~&|<>!^`")
    if has_signs and not value.startswith(("[", "{", "'", '"')):
        quoted = f"'{key}=\"{value}\"'"
        return f"a value with such signs stands in quotation marks, twice for the shell: {quoted}"
    return ""


def _advise_on_word(word: str, registry: Registry) -> str:
    """Return what a word without "=" may stand for."""
    if word in GROUPS:
        choices = ",".join([*registry.options(word), *variants(word)])
        more = f"python -m convrag task=plugins task.stage={word}"
        return (
            f"write {word}=NAME, or -m {word}=NAME,NAME, without blanks: {choices}. "
            f"{more} tells of them"
        )
    meanings = {}
    for group in GROUPS:
        for name in [*registry.options(group), *variants(group)]:
            meanings[name] = f"{group}={name}"
    meanings |= {group: f"{group}=NAME" for group in GROUPS}
    meanings |= {preset: f"+{preset}=NAME" for preset in PRESETS}
    tasks = {name: f"task={name}" for name in registry.options("task")}
    meanings |= tasks
    similar = get_close_matches(word.casefold(), meanings, n=1)
    guess = f" Did you mean {meanings[similar[0]]}?" if similar else ""
    return (
        f"this is no override: these are written key=value, without blanks beside '='.{guess} What "
        f"convrag does beside running an experiment: {', '.join(tasks.values())}. --help lists all"
    )
