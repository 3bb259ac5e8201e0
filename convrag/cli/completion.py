"""Tab completion: what may follow in a command, asked by the shell at each Tab, so without Hydra, which is slow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from convrag.api.errors import ConvragError
from convrag.api.groups import GROUPS, SEVERAL
from convrag.cli.chosen_stages import OVERRIDE, ChosenStages
from convrag.config.settings import HISTORIES, PRESETS, Settings
from convrag.config.variants import variants
from convrag.registry import plugins
from convrag.registry.parameters import union_members

FLAGS = ("--cfg", "--config-dir", "--config-name", "--help", "--info", "--multirun", "--resolve", "--version", "-m")


def complete_line(line: str) -> list[str]:
    """Return what the last word of a command may be, in alphabetical order.

    A word that is whole ends with a blank; one that goes on ("rewriter=", "rewriter.") does not.

    Args:
        line: the command up to the cursor: "convrag rewriter=mmr clust", "python -m convrag rew".
    """
    *words, word = [each.strip("'\"") for each in line.split(" ")]
    words = [each for each in words if each]
    words = words[3 if words[1:3] == ["-m", "convrag"] else 1 :]
    return sorted({each for each in _list_words(words, word) if each.startswith(word)})


def _list_words(words: Sequence[str], word: str) -> Iterable[str]:
    """What may stand behind these words, and more: some of it does not begin with the word that was begun."""
    if word.startswith("-"):
        return (f"{flag} " for flag in FLAGS)
    override = OVERRIDE.fullmatch(word)
    assert override
    key, chosen = override["key"].rpartition("@")[2], ChosenStages(words)
    if not override["equals"]:
        presets = [f"+{preset}=" for preset in PRESETS]
        return [*presets, *(f"{override['sign'] or ''}{each}" for each in _list_keys(key, chosen))]
    value = override["value"]
    inside = max(value.rfind("["), value.rfind(","))  # in a list, and in a grid's factor, the last item is completed
    before = word[: len(word) - len(value)] + value[: inside + 1]
    goes_on = inside >= 0 or not {"-m", "--multirun"}.isdisjoint(words)
    return (f"{before}{each}{'' if goes_on else ' '}" for each in _list_values(key, chosen))


def _list_keys(key: str, chosen: ChosenStages) -> Iterator[str]:
    """Groups and settings; behind a dot, the parameters of the stage that stands there."""
    place, dot, _ = key.rpartition(".")
    yield from (f"{name}=" for name in _SETTINGS)
    if not dot:
        yield from (f"{group}{sign}" for group in GROUPS for sign in "=.")
    elif place in SEVERAL:
        yield from (f"{place}.{name}." for name in chosen.list_chosen(place))
    elif option := chosen.find_option(place):
        for name in option.list_parameters():
            yield from (f"{place}.{name}{sign}" for sign in ("=." if name in option.injected_groups() else "="))


def _list_values(key: str, chosen: ChosenStages) -> Iterable[str]:
    """The options of a group or of a stage's own stage, the values that a type allows, or the default."""
    if key in PRESETS:
        return variants(key)
    if key in GROUPS:
        return _list_options(key)
    if key in _SETTINGS:
        return HISTORIES if key == "history" else _list_default(_SETTINGS[key])
    place, _, name = key.rpartition(".")
    option = chosen.find_option(place)
    if option is None:
        return ()
    if group := option.injected_groups().get(name):
        return _list_options(group)
    with suppress(ConvragError):
        if name in option.parameters:
            parameter = option.parameters[name]
            return [*_list_choices(parameter.type)] or _list_default(parameter.default)
    return ()


def _list_options(group: str) -> list[str]:
    return [*plugins.load().registry.options(group), *variants(group)]


def _list_choices(annotation: Any) -> Iterator[str]:
    """The values that a type allows, where they can be listed."""
    for member in union_members(annotation):
        if get_origin(member) is Literal:
            yield from map(str, get_args(member))
        elif member is bool:
            yield from ("false", "true")
        elif isinstance(member, type) and issubclass(member, Enum):
            yield from (each.name for each in member)


def _list_default(default: Any) -> list[str]:
    """A default that can be typed as it is; nothing for another."""
    if isinstance(default, bool):
        return ["false", "true"]
    return [str(default)] if isinstance(default, int | float | str) and str(default) else []


def _list_settings(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The settings with their defaults: "store.path" -> "outputs/store"."""
    for field in fields(settings):
        if is_dataclass(field.default_factory):
            yield from _list_settings(field.default_factory, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field.default


_SETTINGS = dict(_list_settings(Settings))
