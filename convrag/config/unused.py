"""Choices that a user typed and that no stage of the run asks for, and who would ask for them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL, options_group
from convrag.config.choices import is_sweep
from convrag.config.command import Command, read_place
from convrag.registry.option import Option
from convrag.registry.registry import Registry


class Unused(NamedTuple):
    """Typed choices that nothing uses, who does not ask for them, and what else could be typed;
    each may be empty.

    "ranker=bm25 is not used", "generator=direct asks for no ranker", "generator=ginger does; or
    type reranker=bm25"
    """

    subject: str
    reason: str
    cure: str

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.subject}{reason}; {self.cure}" if self.cure else f"{self.subject}{reason}"


def find_unused(
    config: Mapping[str, Any], command: Command, used: Collection[str], registry: Registry
) -> list[Unused]:
    """The choices that were typed and that nothing uses, or not all use that could; the choices of
    a group together.

    Args:
        config: the configuration, plain.
        command: what was typed; what defaults and presets choose is not spoken of.
        used: the groups whose stage the run uses.
        registry: knows which stages an option asks for, by its constructor.
    """
    groups = [group for group in GROUPS if group in used]
    chosen = {group: option for group in groups if (option := _chosen(config, group, registry))}
    names = {group: command.names.get(group, option.name) for group, option in chosen.items()}
    found = []
    for group, choices in _list_typed(command.overrides).items():
        keepers = list(_list_keepers(group, choices, chosen, names, command))
        if group not in used:
            subject = f"{' and '.join(choices)} {'is' if len(choices) == 1 else 'are'} not used"
            asking = _list_asking(group, chosen, registry)
            reason = (
                _explain(group, asking, names)
                or f"task={config['task'][OPTION_KEY]} has no {group}"
            )
            found.append(
                Unused(
                    subject,
                    reason,
                    "; ".join([*_advise(group, choices[0], asking, names), *keepers]),
                )
            )
        elif keepers:
            found.append(Unused(f"{choices[0]} is not used by all", "; ".join(keepers), ""))
    return found


def find_unused_everywhere(
    cells: Iterable[tuple[Mapping[str, Any], Collection[str]]],
    overrides: Sequence[str],
    registry: Registry,
) -> list[str]:
    """A sentence for each choice that no cell of a grid uses; of choices that vary, the grid says
    what they changed.

    Args:
        cells: the configuration of each, and the groups that it uses.
        overrides: of the grid.
        registry: of options.
    """
    fixed = Command.of(
        [override for override in overrides if not is_sweep(override.partition("=")[2])]
    )
    found = [
        {each.subject: each for each in find_unused(config, fixed, used, registry)}
        for config, used in cells
    ]
    everywhere = (
        [one for subject, one in found[0].items() if all(subject in each for each in found)]
        if found
        else []
    )
    differ = {one for one in everywhere if any(each[one.subject] != one for each in found)}
    return [
        str(one._replace(reason="no cell asks for it") if one in differ else one)
        for one in everywhere
    ]


def _list_typed(overrides: Sequence[str]) -> dict[str, list[str]]:
    """Group -> the overrides that choose its option or set its parameters; to choose none says
    nothing.
    """
    typed: dict[str, list[str]] = {}
    for override in overrides:
        group, value = read_place(override).partition(".")[0], override.partition("=")[2]
        if (
            group in GROUPS
            and group != "task"
            and value not in ("", "none", "[]")
            and not override.startswith("~")
        ):
            typed.setdefault(group, []).append(f"{read_place(override)}={value}")
    return typed


def _list_asking(
    group: str, chosen: Mapping[str, Option], registry: Registry
) -> dict[str, list[str]]:
    """The groups whose options can ask for a group's stage -> these options; a chosen one does with
    other settings.
    """
    asking: dict[str, list[str]] = {}
    for of, own in chosen.items():
        found = [
            name for name, each in registry.options(of).items() if asks_for(each, group, registry)
        ]
        if found:
            last = [f"{own.name} with other settings"] if own.name in found else []
            asking[of] = [name for name in found if name != own.name] + last
    return asking


def _explain(group: str, asking: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> str:
    """Who does not ask for a group's stage; empty where nobody ever does."""
    if len(asking) > 1:
        return f"no stage of this run asks for the {group}"
    return "".join(f"{of}={names[of]} asks for no {group}" for of in asking)


def _advise(
    group: str, choice: str, asking: Mapping[str, Sequence[str]], groups: Iterable[str]
) -> Iterator[str]:
    """Who would ask for a group's stage, and where else the option can be chosen: a ranker may be
    meant to rerank.
    """
    if asking:
        yield " or ".join(f"{of}={','.join(options)}" for of, options in asking.items()) + " does"
    key, _, name = choice.partition("=")
    siblings = [of for of in groups if of != group and options_group(of) == options_group(group)]
    if siblings and key == group:
        yield f"or type {siblings[0]}={name}"


def asks_for(
    option: Option, group: str, registry: Registry, above: Collection[Option] = ()
) -> bool:
    """Whether an option, or a stage that it has by default, is given the run's stage of a group."""
    if group in option.list_groups_of_run():
        return True
    own = [registry.options(of).get(name) for of, name in option.list_used_options()]
    return any(
        asks_for(each, group, registry, [*above, option])
        for each in own
        if each and each not in above
    )


def _list_keepers(
    group: str,
    choices: Sequence[str],
    chosen: Mapping[str, Option],
    names: Mapping[str, str],
    command: Command,
) -> Iterator[str]:
    """The stages that have a stage of this group of their own by default, though another one was
    typed for the run.
    """
    name = next(
        (choice.partition("=")[2] for choice in choices if choice.partition("=")[0] == group), ""
    )
    for of, option in chosen.items():
        if not name or options_group(of) == options_group(group):
            continue
        for parameter in option.parameters.values():
            place, own = f"{of}.{parameter.name}", parameter.used_option
            if parameter.group == group and own not in ("", name) and not command.sets(place):
                yield f"{of}={names[of]} keeps {group}={own}, which {place}={name} changes"


def _chosen(config: Mapping[str, Any], group: str, registry: Registry) -> Option | None:
    node = config.get(group)
    if group in SEVERAL or not isinstance(node, Mapping):
        return None
    return registry.options(group).get(str(node.get(OPTION_KEY)))
