"""Tab completion: the script for bash, and what may follow in a command.

A shell asks at each Tab, so it is answered without Hydra, which is slow.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from convrag.api.errors import ConvragError
from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL
from convrag.config.settings import HISTORIES, PRESETS, list_settings
from convrag.config.variants import option_node, variants
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.parameters import union_members

FLAGS = ("--cfg", "--config-dir", "--config-name", "--help", "--info", "--multirun", "--resolve", "--version", "-m")

_OVERRIDE = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[^=]*)(?P<equals>=)?(?P<value>.*)", re.DOTALL)

Typed = Mapping[str, Sequence[str]]
"""What a command chooses: place ("rewriter", "rewriter.clusterer") -> names."""


_INSTALL = r"""
declare -gA _convrag_python_before

_convrag() {  # complete the last word of `convrag ...` or `python -m convrag ...`
    local command=("${COMP_WORDS[0]}") line=${COMP_LINE:0:COMP_POINT} breaks= kept= quoted= sign word reply
    [[ ${COMP_WORDS[0]##*/} == python* ]] && command+=(-m convrag)
    word=${line##* }
    if [[ $word == [\'\"]* ]]; then
        quoted=yes
    else  # bash replaces what stands behind the last of its signs between words
        for sign in = : @; do [[ $COMP_WORDBREAKS == *"$sign"* ]] && breaks+=$sign; done
        [[ -n $breaks ]] && kept=${word%"${word##*[$breaks]}"}
    fi
    COMPREPLY=()
    while IFS= read -r reply; do
        [[ -n $quoted ]] && reply=${reply% }
        COMPREPLY+=("${reply#"$kept"}")
    done < <(COMP_LINE=$line COMP_POINT=$COMP_POINT "${command[@]}" -sc query=bash 2>/dev/null)
}

_convrag_python() {  # `python -m convrag` as above; any other python as before
    if [[ $COMP_CWORD -gt 2 && ${COMP_WORDS[1]} == -m && ${COMP_WORDS[2]} == convrag ]]; then
        _convrag
    else
        compopt +o nospace
        [[ -z ${_convrag_python_before[$1]} ]] || "${_convrag_python_before[$1]}" "$@"
    fi
}

complete -o default -o nospace -F _convrag convrag
for _convrag_name in python python3; do
    declare -F _completion_loader >/dev/null && _completion_loader "$_convrag_name"
    _convrag_found=$(complete -p "$_convrag_name" 2>/dev/null)
    if [[ $_convrag_found == *" -F "* && $_convrag_found != *_convrag_python* ]]; then
        _convrag_found=${_convrag_found##* -F }
        _convrag_python_before[$_convrag_name]=${_convrag_found%% *}
    fi
    complete -o default -o nospace -F _convrag_python "$_convrag_name"
done
unset _convrag_name _convrag_found
"""


def answer_bash(arguments: Sequence[str]) -> bool:
    """Print the script, or what the last word of the command in COMP_LINE may be, one on each line.

    Args:
        arguments: those behind `-sc`.

    Returns:
        Whether they are about bash. Other shells are Hydra's matter.
    """
    what = "".join(arguments[:1])
    if what == "install=bash":
        sys.stdout.write(_INSTALL.lstrip())
    elif what == "query=bash":
        sys.stdout.writelines(f"{word}\n" for word in complete_line(os.environ.get("COMP_LINE", "")))
    return what in ("install=bash", "query=bash")


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
    override = _OVERRIDE.fullmatch(word)
    assert override
    key, typed = override["key"].rpartition("@")[2], _read_choices(words)
    if not override["equals"]:
        presets = [f"+{preset}=" for preset in PRESETS]
        return [*presets, *(f"{override['sign'] or ''}{each}" for each in _list_keys(key, typed))]
    value = override["value"]
    inside = max(value.rfind("["), value.rfind(","))  # in a list, and in a grid's factor, the last item is completed
    before = word[: len(word) - len(value)] + value[: inside + 1]
    goes_on = inside >= 0 or not {"-m", "--multirun"}.isdisjoint(words)
    return (f"{before}{each}{'' if goes_on else ' '}" for each in _list_values(key, typed))


def _read_choices(words: Sequence[str]) -> Typed:
    """What the words of a command choose; plugin files that they name are loaded."""
    found = [match for word in words if (match := _OVERRIDE.fullmatch(word)) and match["equals"]]
    typed = {m["key"].rpartition("@")[2]: [*filter(None, m["value"].strip("[]").split(","))] for m in found}
    for name in typed.get("plugins", ()):
        with suppress(ConvragError, OSError):
            plugins.load().add_file(Path(name))
    return typed


def _list_keys(key: str, typed: Typed) -> Iterator[str]:
    """Groups and settings; behind a dot, the parameters of the stage that stands there."""
    place, dot, _ = key.rpartition(".")
    yield from (f"{name}=" for name in _SETTINGS)
    if not dot:
        yield from (f"{group}{sign}" for group in GROUPS for sign in "=.")
    if place in SEVERAL:
        yield from (f"{place}.{name}." for name in typed.get(place) or plugins.load().registry.options(place))
        return
    for option in _find_options(place, typed):
        for name in option.list_parameters():
            yield from (f"{place}.{name}{sign}" for sign in ("=." if name in option.injected_groups() else "="))


def _list_values(key: str, typed: Typed) -> Iterable[str]:
    """The options of a group or of a stage's own stage, the values that a type allows, or the default."""
    if key in PRESETS:
        return variants(key)
    if key in _SETTINGS:
        return HISTORIES if key == "history" else _list_default(_SETTINGS[key])
    place, _, name = key.rpartition(".")
    takers = [option for option in _find_options(place, typed) if name in option.list_parameters()]
    group = key if key in GROUPS else takers[0].injected_groups().get(name, "") if takers else ""
    if group:
        return [*plugins.load().registry.options(group), *variants(group)]
    with suppress(ConvragError):
        for option in takers[:1]:
            parameter = option.parameters[name]
            return [*_list_choices(parameter.type)] or _list_default(parameter.default)
    return ()


def _find_options(place: str, typed: Typed) -> list[Option]:
    """The options that may stand at a place ("rewriter.clusterer"): what the command names, else all of the group."""
    registry = plugins.load().registry
    group, *path = place.split(".")
    if group not in GROUPS:
        return []
    at, names = group, typed.get(group)
    if group in SEVERAL:
        at, names, path = ".".join([group, *path[:1]]), path[:1], path[1:]
    for name in path:
        at, group = f"{at}.{name}", registry.injected_groups(group).get(name, "")
        names = typed.get(at)
    offered = registry.options(group) if group else {}
    if not names:
        return [*offered.values()]
    with suppress(ConvragError):
        return [offered.get(name) or offered[option_node(group, name)[OPTION_KEY]] for name in names if name]
    return []


def _list_choices(annotation: Any) -> Iterator[str]:
    """The values that a type allows, where they can be listed."""
    for member in union_members(annotation):
        if get_origin(member) is Literal:
            yield from map(str, get_args(member))
        elif member is bool:
            yield from ("false", "true")


def _list_default(default: Any) -> list[str]:
    """A default that can be typed as it is; nothing for another."""
    if isinstance(default, bool):
        return ["false", "true"]
    return [str(default)] if isinstance(default, int | float | str) and str(default) else []


_SETTINGS = {name: default for name, default, _ in list_settings()}
