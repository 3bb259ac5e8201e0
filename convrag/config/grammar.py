"""Arguments that are no overrides (`chat`, `rewriter:mmr`, `rewriter=a=b`): what to type instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS, SEVERAL
from convrag.config.settings import PRESETS
from convrag.config.variants import variants
from convrag.registry.registry import Registry

_FLAGS = {"help": "--help", "version": "--version", "multirun": "-m", "info": "task=doctor, or Hydra's --info"}
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_NO_NAME = re.compile(r"[\d.eE+-]+|null|true|false|nan|[+-]?inf", re.IGNORECASE)
_QUOTES = "\u2018\u2019\u201c\u201d\u00ab\u00bb"


def explain_override(argument: str, reason: str, registry: Registry) -> ConfigError:
    """The error for an argument that Hydra cannot read.

    Args:
        argument: as it was typed.
        reason: what Hydra says.
        registry: knows what could be meant.
    """
    return ConfigError(f"{argument}: {_advise(argument, registry) or _shorten(reason)}")


def check_choices(overrides: Iterable[str], registry: Registry) -> None:
    """Raise ConfigError for an override that chooses two options, or none: `rewriter=[mmr,dhrag]`, `rewriter=1`.

    Hydra need not have read them: it ends with a traceback for `metrics=[ranking,1]`.
    """
    for override in overrides:
        key, _, value = override.lstrip("+").partition("=")
        group, names = key.partition("@")[0], [name.strip() for name in value.strip("[] ").split(",")]
        if not key:
            raise ConfigError(f"{override}: {_advise(override, registry)}")
        if override.startswith("+") and key in GROUPS:
            raise ConfigError(f"{override}: a {key} is chosen without a plus: {key}={value}")
        if group not in GROUPS or "${" in value:
            continue
        if value.startswith("[") and len(names) > 1 and group not in SEVERAL:
            raise ConfigError(
                f"{override}: a run has one {group}. A grid has one after the other: -m {key}={','.join(names)}"
            )
        if any(_NO_NAME.fullmatch(name) for name in names):
            raise ConfigError(f"{override}: an option has a name; choose from: {', '.join(registry.options(group))}")


def _advise(argument: str, registry: Registry) -> str:
    """What to type instead; empty where only Hydra knows what is wrong."""
    if argument[:1] in _DASHES and argument:
        rest = argument.lstrip(_DASHES + "-")
        return f"this begins with a long dash; type {'-' if len(rest) == 1 else '--'}{rest}"
    if any(quote in argument for quote in _QUOTES):
        return "these quotation marks come from a text program; type straight ones"
    key, equals, value = argument.partition("=")
    if not equals:
        return _advise_on_word(argument, registry)
    if not key.strip("+~ "):
        return "the key is missing before '='. An override is written key=value"
    if key != key.strip() or value != value.lstrip():
        return f"an override has no blanks beside '=': {key.strip()}={value.strip()}"
    if any(value.count(one) != value.count(other) for one, other in ("()", "[]", "{}")):
        return "a bracket is opened and not closed, or the other way round"
    if value.rstrip().endswith(",") or value.lstrip().startswith(","):
        return f"a comma stands between two values: -m {key}=one,two"
    if any(sign in value for sign in "=;:{}[]()'\"\\~&|<>!^`") and not value.startswith(("[", "{", "'", '"')):
        return f"a value with such signs stands in quotation marks, twice for the shell: '{key}=\"{value}\"'"
    return ""


def _advise_on_word(word: str, registry: Registry) -> str:
    """What a word without "=" may stand for."""
    name, colon, value = word.strip().partition(":")
    if colon:
        return f"an override is written with '=': {name}={value.strip() or '...'}"
    name = name.lstrip("-+~")
    if name in _FLAGS:
        return f"type {_FLAGS[name]}"
    if name in registry.options("task"):
        return f"type task={name}"
    if name in GROUPS or name in PRESETS:
        plus = "+" if name in PRESETS else ""
        choices = variants(name) if name in PRESETS else registry.options(name)
        return f"which one? {plus}{name}=NAME with one of {', '.join(choices)}"
    if meant := _list_meant(name, registry):
        return f"did you mean {' or '.join(meant)}? An override has no blanks beside '='"
    words = {**{each: f"task={each}" for each in registry.options("task")}, **{each: f"{each}=..." for each in GROUPS}}
    similar = get_close_matches(name.casefold(), words, n=1)
    guess = f" Did you mean {words[similar[0]]}?" if similar else ""
    tasks = ", ".join(f"task={each}" for each in registry.options("task"))
    return (
        f"this is no override: these are written key=value, without blanks beside '='.{guess} What convrag does beside "
        f"running an experiment: {tasks}. --help lists all"
    )


def _list_meant(name: str, registry: Registry) -> list[str]:
    """The choices of that name: "rewriter=mmr", "+system=mmr"."""
    chosen = [f"{group}={name}" for group in GROUPS if name in registry.options(group) or name in variants(group)]
    return chosen + [f"+{preset}={name}" for preset in PRESETS if name in variants(preset)]


def _shorten(reason: str) -> str:
    """What Hydra's parser says, without the names of its exceptions and a link to its manual."""
    first = " ".join(line.strip() for line in reason.splitlines() if line.strip() and "hydra.cc" not in line)
    return re.sub(r"^\w*Exception: ", "", first) or "this is no override"
