"""Finds choices that a user typed and no stage of the run asks for, and what to type instead."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL, options_group
from convrag.config.choices import is_sweep
from convrag.config.command import Command, read_place
from convrag.registry.option import Option
from convrag.registry.registry import Registry


class Unused(NamedTuple):
    """Typed choices that nothing uses.

    Args:
        subject: the choices: "ranker=bm25 is not used".
        reason: the stages that do not ask for them: "generator=direct asks for no ranker". May be
            empty.
        cure: an alternative: "generator=ginger does; or type reranker=bm25". May be empty.
    """

    subject: str
    reason: str
    cure: str

    def __str__(self) -> str:
        text = self.subject
        if self.reason:
            text += f": {self.reason}"
        if self.cure:
            text += f"; {self.cure}"
        return text


def find_unused(
    config: Mapping[str, Any], command: Command, used: Collection[str], registry: Registry
) -> list[Unused]:
    """Find the typed choices that no stage uses, or that some stage replaces by its own.

    The choices of a group are reported together.

    Args:
        config: the configuration, plain.
        command: the typed command; choices of defaults and presets are not reported.
        used: the groups whose stage the run uses.
        registry: the options, with the stages for which their constructors ask.
    """
    groups = [group for group in GROUPS if group in used]
    chosen = {group: option for group in groups if (option := _chosen(config, group, registry))}
    names = {group: command.names.get(group, option.name) for group, option in chosen.items()}
    found = []
    for group, choices in _list_typed(command.overrides).items():
        keepers = list(_list_keepers(group, choices, chosen, names, command))
        if group not in used:
            verb = "is" if len(choices) == 1 else "are"
            subject = f"{' and '.join(choices)} {verb} not used"
            asking = _list_asking(group, chosen, registry)
            reason = _explain(group, asking, names)
            if not reason:
                reason = f"task={config['task'][OPTION_KEY]} has no {group}"
            cures = [*_advise(group, choices[0], asking, names), *keepers]
            found.append(Unused(subject, reason, "; ".join(cures)))
        elif keepers:
            found.append(Unused(f"{choices[0]} is not used by all", "; ".join(keepers), ""))
    return found


def find_unused_everywhere(
    cells: Iterable[tuple[Mapping[str, Any], Collection[str]]],
    overrides: Sequence[str],
    registry: Registry,
) -> list[str]:
    """Describe each choice that no cell of a grid uses, in a sentence.

    Choices that vary are left out, since the grid reports their effect.

    Args:
        cells: the configuration of each cell, and the groups that it uses.
        overrides: the grid's overrides.
        registry: the options.
    """
    fixed = [override for override in overrides if not is_sweep(override.partition("=")[2])]
    command = Command.of(fixed)
    found = [
        {each.subject: each for each in find_unused(config, command, used, registry)}
        for config, used in cells
    ]
    if not found:
        return []
    sentences = []
    for subject, unused in found[0].items():
        if not all(subject in cell for cell in found):
            continue
        if any(cell[subject] != unused for cell in found):
            sentences.append(str(unused._replace(reason="no cell asks for it")))
        else:
            sentences.append(str(unused))
    return sentences


def _list_typed(overrides: Sequence[str]) -> dict[str, list[str]]:
    """Map groups to the overrides that choose their option or set its parameters.

    Deletions and the choice of none do not count.
    """
    typed: dict[str, list[str]] = {}
    for override in overrides:
        place = read_place(override)
        group = place.partition(".")[0]
        value = override.partition("=")[2]
        is_choice = value not in ("", "none", "[]") and not override.startswith("~")
        if is_choice and group in GROUPS and group != "task":
            typed.setdefault(group, []).append(f"{place}={value}")
    return typed


def _list_asking(
    group: str, chosen: Mapping[str, Option], registry: Registry
) -> dict[str, list[str]]:
    """Map groups to their options that can ask for a group's stage.

    The chosen option is listed last if it can ask for the stage with other settings.
    """
    asking: dict[str, list[str]] = {}
    for other_group, own in chosen.items():
        options = registry.options(other_group)
        names = [name for name, option in options.items() if asks_for(option, group, registry)]
        if own.name in names:
            names.remove(own.name)
            names.append(f"{own.name} with other settings")
        if names:
            asking[other_group] = names
    return asking


def _explain(group: str, asking: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> str:
    """Say which stage does not ask for a group's stage; empty where no option ever does."""
    if len(asking) > 1:
        return f"no stage of this run asks for the {group}"
    return "".join(f"{of}={names[of]} asks for no {group}" for of in asking)


def _advise(
    group: str, choice: str, asking: Mapping[str, Sequence[str]], groups: Iterable[str]
) -> Iterator[str]:
    """Suggest options that ask for a group's stage, and other groups that have the option.

    A ranker may be meant to rerank.
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
    """Tell whether an option, or a stage that it has by default, asks for the run's stage."""
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
    """List the stages that keep a stage of this group of their own, though another was typed."""
    prefix = f"{group}="
    typed = [choice.removeprefix(prefix) for choice in choices if choice.startswith(prefix)]
    if not typed:
        return
    name = typed[0]
    for other_group, option in chosen.items():
        if options_group(other_group) == options_group(group):
            continue
        for parameter in option.parameters.values():
            own = parameter.used_option
            if parameter.group != group or own in ("", name):
                continue
            place = f"{other_group}.{parameter.name}"
            if not command.sets(place):
                keeper = f"{other_group}={names[other_group]}"
                yield f"{keeper} keeps {group}={own}, which {place}={name} changes"


def _chosen(config: Mapping[str, Any], group: str, registry: Registry) -> Option | None:
    node = config.get(group)
    if group in SEVERAL or not isinstance(node, Mapping):
        return None
    return registry.options(group).get(str(node.get(OPTION_KEY)))
