"""Turns overrides as users type them into Hydra's, which know more places and need quotation.

`rewriter.clusterer=lsa` becomes `clusterer@rewriter.clusterer=lsa`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from convrag.api.groups import GROUPS, SEVERAL, options_group
from convrag.config.variants import chooses_stage, default_options, variants_of
from convrag.registry.parameters import Parameter
from convrag.registry.registry import Registry

_OVERRIDE = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[^=\s]+)(?:=(?P<value>.*))?", re.DOTALL)
_STRUCTURED = re.compile(r"['\"\\{}()$]")
"""Signs of values that are quoted already, or are not texts."""

_ITEM = re.compile(r"[^\s,\[\]](?:[^,\[\]]*[^\s,\[\]])?")
"""An item of a list or a grid, or a value that is neither, without the spaces around it."""

_NAME = re.compile(r"[A-Za-z_][\w-]*")
_NAMES = re.compile(r"(?!null$)[A-Za-z_][\w-]*(\s*,\s*[A-Za-z_][\w-]*)*")


class Override(NamedTuple):
    """One override, taken apart: "+", "clusterer@rewriter.clusterer", "lsa"; `value` is None where
    there is no "=".
    """

    sign: str
    key: str
    value: str | None

    def __str__(self) -> str:
        return f"{self.sign}{self.key}" + ("" if self.value is None else f"={self.value}")


def quote_value(override: str) -> str:
    """Quote the parts of an override's value that Hydra cannot read; a second time changes nothing.

        dataset.path=~/Übungen             -> dataset.path='~/Übungen'
        dataset.path=[~/wiki, notes.txt]   -> dataset.path=['~/wiki', notes.txt]
        sweep.baseline=rewriter=none       -> sweep.baseline='rewriter=none'
        sweep.metric=nDCG@5,ROUGE-L        -> sweep.metric='nDCG@5,ROUGE-L'

    The last one would be a factor of the grid otherwise.
    """
    key, equals, value = override.partition("=")
    sign = {"sweep.baseline": "=", "sweep.metric": ","}.get(key)
    if sign and sign in value and value[0] not in "'\"[":
        return f"{key}='{value}'"
    if _STRUCTURED.search(value):
        return override
    return f"{key}{equals}{_ITEM.sub(_quote_item, value)}"


def _quote_item(found: re.Match[str]) -> str:
    """Quote an item of a value if it has a sign that Hydra cannot read: ~, or one beyond ASCII."""
    return f"'{found[0]}'" if "~" in found[0] or not found[0].isascii() else found[0]


def translate_overrides(
    overrides: Iterable[str], registry: Registry, *, multirun: bool = False
) -> list[str]:
    """Return overrides in Hydra's words.

        rewriter.clusterer=lsa               -> clusterer@rewriter.clusterer=lsa
        +embedder@rewriter.embedder=minilm   -> embedder@rewriter.embedder=minilm
        llm.extra.api_version=1              -> ++llm.extra.api_version=1
        dataset.columns={id: key}            -> ++dataset.columns={id: key}

    With `multirun`, a value of a stage that is swept over becomes a sweep of one: Hydra composes
    once with the default stage, which may have no such parameter (`rewriter=mmr,dhrag
    rewriter.embedder=minilm`).

    Args:
        overrides: of a command line or of a grid; other arguments stay as they are.
        registry: knows which parameters are stages.
        multirun: whether they are a grid's.
    """
    overrides = list(overrides)
    parameters = StageParameters(registry, overrides)
    translated = [_translate(override, parameters) for override in overrides]
    return _sweep_of_one(translated) if multirun else translated


def _translate(argument: str, parameters: StageParameters) -> str:
    override = _parse(argument)
    if override is None or not override.value:
        return argument
    has_place = "@" in override.key
    place = override.key.rpartition("@")[2]
    chooses = _names_options(override.value)
    is_dictionary = override.value.startswith("{")
    if not (has_place or chooses or is_dictionary or place.count(".") > 1):
        return argument  # a plain parameter: no class need be imported
    group, inner = parameters.follow(place)
    if group and not inner:
        names_stage = has_place or (chooses and parameters.chooses_stage(place, override.value))
        if override.sign != "~" and names_stage:
            key = override.key if has_place else f"{group}@{place}"
            return str(Override("", key, override.value))
    elif inner and not has_place and not override.sign and (len(inner) > 1 or is_dictionary):
        return f"++{argument}"
    return argument


def _parse(argument: str) -> Override | None:
    match = _OVERRIDE.fullmatch(argument)
    if match is None or argument.startswith("-"):
        return None
    return Override(match["sign"] or "", match["key"], match["value"])


class StageParameters:
    """Tells which parameters are stages, from the classes of the options.

    The options that the overrides name are asked first. The others of a group are imported only
    where none of those has the parameter: a preset may choose one of them.

    Args:
        registry: has the options.
        overrides: of a command.
    """

    def __init__(self, registry: Registry, overrides: Iterable[str] = ()) -> None:
        self._registry = registry
        self._named: dict[str, list[str]] = {}
        for override in overrides:
            key, _, value = override.lstrip("+").partition("=")
            group = key.partition("@")[0].rpartition(".")[2]
            self._named.setdefault(group, []).extend(_NAME.findall(value))

    def find_parameter(self, group: str, parameter: str, named: str = "") -> Parameter | None:
        """Return the parameter of a group's options; None where none of them has it.

        Args:
            group: has the options.
            parameter: the name in the constructor.
            named: the option to ask first.
        """
        options = self._registry.options(group)
        variants_of_group = {each.name: each.extends for each in variants_of(options_group(group))}
        names = [named, *self._named.get(group, ()), default_options().get(group, "")]
        first = []
        for name in names:
            while name in variants_of_group and name not in options:
                name = variants_of_group[name]
            first.append(name)
        for name in [*first, *options]:
            option = options.get(name)
            if option and parameter in option.list_parameters():
                return option.parameters[parameter]
        return None

    def follow(self, place: str) -> tuple[str, list[str]]:
        """Follow a place from stage to stage: "rewriter.clusterer.n" -> ("clusterer", ["n"]).

        Returns:
            The group of the last injected stage (of the first one, where a value stands there), and
            the names after it. Both are empty for a place that begins with no group, and for a
            group itself.
        """
        group, path, _ = self._follow(place)
        return group, path

    def chooses_stage(self, place: str, names: str) -> bool:
        """Whether names choose options at the place of a stage, which may take a value, too."""
        parameter = self._follow(place)[2]
        if parameter is None:
            return True
        return all(chooses_stage(parameter, name) for name in _NAME.findall(names))

    def _follow(self, place: str) -> tuple[str, list[str], Parameter | None]:
        """Follow a place as `follow` does; the parameter is that of the last stage."""
        group, *path = place.split(".")
        if group not in GROUPS:
            return "", [], None
        named = ""
        if group in SEVERAL and path:
            named, *path = path
        last: Parameter | None = None
        while path:
            parameter = self.find_parameter(group, path[0], named)
            if parameter is None or not parameter.group:
                break
            last = parameter
            group = parameter.group
            path = path[1:]
        is_stage = last is not None or bool(path)
        return (group if is_stage else ""), path, last


def find_stage_group(place: str, registry: Registry) -> str:
    """Return the group of the stage that is injected at a place ("rewriter.clusterer"), or ""."""
    group, inner = StageParameters(registry).follow(place)
    return "" if inner else group


def _names_options(value: str) -> bool:
    """Whether a value chooses options: a name, or a sweep over names; not a dictionary or null."""
    names = value.removeprefix("choice(").removesuffix(")").strip()
    return bool(_NAMES.fullmatch(names))


def _sweep_of_one(overrides: Sequence[str]) -> list[str]:
    """Make a sweep of each value of a stage that is swept over."""
    parsed = [_parse(override) for override in overrides]
    swept = {each.key for each in parsed if each and each.value and is_sweep(each.value)}
    result = []
    for override, argument in zip(parsed, overrides, strict=True):
        if override and _belongs_to(override, swept):
            result.append(str(override._replace(value=f"choice({override.value})")))
        else:
            result.append(argument)
    return result


def _belongs_to(override: Override, swept: set[str]) -> bool:
    """Whether an override sets a single value of a stage that is swept over."""
    if override.sign or not override.value or is_sweep(override.value) or "${" in override.value:
        return False
    place = override.key.partition("@")[2] or override.key
    stages = {key.partition("@")[2] or key for key in swept}
    return any(place.startswith(f"{stage}.") for stage in stages)


def is_sweep(value: str) -> bool:
    """Whether Hydra reads several values in one: `a,b`, `choice(...)`, `range(...)`."""
    if re.match(r"(choice|range|interval|glob|shuffle|sort|tag)\(", value):
        return True
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", value)
    before = ""
    while bare != before:  # brackets within brackets go from the inside
        before = bare
        bare = re.sub(r"\([^()]*\)|\[[^][]*\]|\{[^{}]*\}", "", bare)
    return "," in bare
