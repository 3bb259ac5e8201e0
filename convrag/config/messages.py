"""Errors of Hydra, OmegaConf and PyYAML in our words: what was wrong with which key, and what could
stand there.

Keys that nothing reads are refused too: Hydra accepts a typing error after a plus, or in a YAML
file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import yaml
from hydra.conf import HydraConf
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    OmegaConfBaseException,
    ValidationError,
)

from convrag.api.errors import ConfigError, ConvragError, PluginError, UnknownName
from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL
from convrag.config.choices import Command, stage_at
from convrag.config.settings import PRESETS, Settings
from convrag.config.variants import option_node, variants
from convrag.config.yaml_files import (
    cite,
    cite_only_file,
    explain_yaml_error,
    list_chosen_files,
    read_yaml,
)
from convrag.registry.option import Option
from convrag.registry.parameters import union_members
from convrag.registry.registry import Registry

_REFERENCE = re.compile(r"\$\{\s*(?:oc\.select:\s*)?([\w.@]+)")


class UnknownKey(UnknownName):
    """A key that nothing reads; `key` is its full name."""

    def __init__(
        self, key: str, what: str, name: str, choices: Iterable[str], hints: Iterable[str] = ()
    ) -> None:
        self.key = key
        super().__init__(what, name, choices)
        self.args = (" ".join([str(self), *hints]),)


def check_keys(
    config: DictConfig, registry: Registry, choices: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Refuse keys that neither convrag nor a stage nor another value of the configuration reads.

    Args:
        config: composed by Hydra, with or without its own part.
        registry: knows the options.
        choices: place -> the name by which the stage there was chosen, if another than its option's
            (see `Command`).

    Raises:
        UnknownKey: there is one; the message has a guess.
        ConfigError: a setting was deleted.
    """
    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    references = {
        found.partition(".")[0] for found in _REFERENCE.findall(OmegaConf.to_yaml(config))
    }
    sections = _sections()
    known = {*GROUPS, *(each.name for each in fields(Settings)), "hydra"}
    for key, value in plain.items():
        if key not in known and key not in references:
            raise explain_unknown_setting(str(key))
        if key in sections and isinstance(value, Mapping):
            if unknown := [name for name in value if name not in sections[key]]:
                raise explain_unknown_setting(f"{key}.{unknown[0]}")
        elif key in SEVERAL and isinstance(value, Mapping):
            for name, node in value.items():
                _check_stage(f"{key}.{name}", str(key), node, registry, choices)
        elif key in GROUPS:
            _check_stage(str(key), str(key), value, registry, choices)
    if missing := [name for name in known - {"hydra"} - {*GROUPS} if name not in plain]:
        raise ConfigError(
            f"~{missing[0]}: a setting cannot be deleted. Give it a value: {missing[0]}=..."
        )


def explain_unknown_setting(key: str) -> UnknownKey:
    """The error for a key at the top ("sysem"), or in a section ("sweep.dir")."""
    section, _, name = key.partition(".")
    own = {**_sections(), "hydra": [each.name for each in fields(HydraConf)]}.get(section)
    if own and name:
        return UnknownKey(key, "setting", key, [f"{section}.{each}" for each in own])
    hint = f"A group of your own is a folder of YAML files: --config-dir=FOLDER, with FOLDER/{section}/NAME.yaml in it."
    if section in PRESETS:
        hint = "A preset's file begins with the line '# @package _global_' to set other stages and settings."
    choices = [
        *GROUPS,
        *(each.name for each in fields(Settings)),
        *(f"+{preset}" for preset in PRESETS),
    ]
    return UnknownKey(key, "option", section, choices, [hint])


def explain_unknown_parameter(
    place: str, option: Option, name: str, registry: Registry, typed: str = ""
) -> UnknownKey:
    """The error for a parameter that the stage at a place ("rewriter.clusterer") does not have.

    Args:
        place: of the stage.
        option: of the stage.
        name: of the parameter.
        registry: knows which other options have it.
        typed: the name by which the option was chosen ("claude"), if another than its own.
    """
    own, others = option.list_parameters(), registry.options(option.group).values()
    meant = name
    if not get_close_matches(name, own, n=1):
        everywhere = dict.fromkeys(
            parameter for each in others for parameter in each.list_parameters()
        )
        meant = next(iter(get_close_matches(name, everywhere, n=1)), name)
    takers = [
        f"{place}={each.name}"
        for each in others
        if meant in each.list_parameters() and meant not in own
    ]
    hints = [f"{place}.{meant} belongs to {', '.join(takers)}."] if takers else []
    return UnknownKey(
        f"{place}.{name}", f"{place}={typed or option.name}: parameter", name, own, hints
    )


def explain_unchosen(place: str, group: str, name: str) -> ConfigError:
    """The error for a parameter of a stage's own stage where the stage has the run's
    ("rewriter.embedder").
    """
    return ConfigError(
        f"{place}.{name}=...: no {group} is chosen for {place}, which has the run's: {group}.{name}=..."
    )


def _check_stage(
    place: str, group: str, node: Any, registry: Registry, choices: Mapping[str, str]
) -> None:
    """The keys of a stage's configuration, and of the configurations of its own stages."""
    if not isinstance(node, Mapping) or OPTION_KEY not in node:
        return  # the wiring says what is wrong with it
    try:
        option = registry.get(group, str(node[OPTION_KEY]))
        parameters = option.parameters
    except UnknownName as error:
        raise UnknownKey(f"{place}.{OPTION_KEY}", group, error.name, error.choices) from None
    except ConvragError:
        return  # whoever builds the stage says why
    for key, value in node.items():
        if key == OPTION_KEY:
            continue
        if key not in option.configurable:
            raise explain_unknown_parameter(
                place, option, str(key), registry, choices.get(place, "")
            )
        if parameters[key].group:
            if isinstance(value, Mapping) and value and OPTION_KEY not in value:
                raise explain_unchosen(
                    f"{place}.{key}", parameters[key].group, str(next(iter(value)))
                )
            if isinstance(value, str):
                _check_name(f"{place}.{key}", parameters[key].group, value)
            _check_stage(f"{place}.{key}", parameters[key].group, value, registry, choices)
        elif known := [each for each in union_members(parameters[key].type) if is_dataclass(each)]:
            names = [each.name for each in fields(known[0])]
            if isinstance(value, Mapping) and (
                unknown := [str(name) for name in value if name not in names]
            ):
                raise UnknownKey(
                    f"{place}.{key}.{unknown[0]}", f"{place}.{key}: key", unknown[0], names
                )


def _check_name(key: str, group: str, name: str) -> None:
    """A YAML file names the option of a stage's own stage: `rewriter: {clusterer: lsa}`."""
    try:
        option_node(group, name)
    except UnknownName as error:
        raise UnknownKey(key, f"{key}: {group}", error.name, error.choices) from None


def _sections() -> dict[str, list[str]]:
    """The settings that have settings of their own: "store" -> ["path"]."""
    nested = {
        each.name: each.default_factory
        for each in fields(Settings)
        if is_dataclass(each.default_factory)
    }
    return {name: [each.name for each in fields(cls)] for name, cls in nested.items()}  # type: ignore[arg-type]


HYDRA_ERRORS = (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError, RecursionError)
"""What Hydra raises for a configuration that is wrong. A few are bare ValueErrors."""

_ODD_ERRORS = (TypeError, AttributeError, AssertionError, LookupError)
"""What it raises for a list of defaults that makes no sense."""

_KEY = re.compile(r"Could not override '([^']+)'")
_MERGE = re.compile(r"Error merging override (\S+)")
_FULL_KEY = re.compile(r"full_key: (.*\S)")
_SEVERAL = re.compile(
    r"(?:Ambiguous value for argument|Sweep parameters) '(.+?)'(?: requires|\n|$)"
)
_NO_NAME = re.compile(r"[\d.eE+-]+|null|true|false|nan|[+-]?inf", re.IGNORECASE)


@contextmanager
def explained(registry: Registry, overrides: Sequence[str] = ()) -> Iterator[None]:
    """Turn an error of Hydra's into one of ours. Raises ConvragError."""
    try:
        yield
    except (*HYDRA_ERRORS, *_ODD_ERRORS) as error:
        raise explain(error, registry, overrides) from error


def explain(error: Exception, registry: Registry, overrides: Sequence[str] = ()) -> ConvragError:
    """Our error for one of Hydra's, with the file where a YAML file that the command names is to
    blame.

    Args:
        error: what was raised.
        registry: knows what could have been meant.
        overrides: of the command.

    Returns:
        A PluginError where a plugin is to blame; else mostly a ConfigError.
    """
    command = Command.of(overrides)
    if isinstance(error, OverrideParseException):
        lines = (line.strip() for line in error.message.splitlines() if "hydra.cc" not in line)
        said = (
            re.sub(r"^\w*Exception: ", "", " ".join(filter(None, lines))) or "this is no override"
        )
        return ConfigError(f"{error.override}: {_advise(error.override, registry) or said}")
    if isinstance(error, yaml.MarkedYAMLError):
        return explain_yaml_error(error)
    for file in list_chosen_files(overrides):
        try:
            read_yaml(file)
        except ConfigError as unreadable:
            return unreadable
    if isinstance(error, MissingConfigException) and (name := error.missing_cfg_file):
        if "/" in name:
            return _explain_unknown_option(error, registry, command)
        where = (
            "--config-name is the name of a file NAME.yaml in the folder that --config-dir names"
        )
        return cite_only_file(ConfigError(f"there is no configuration {name!r}: {where}"), command)
    if isinstance(error, RecursionError):
        return cite_only_file(
            ConfigError("this configuration's defaults, or its values, contain themselves"), command
        )
    return _explain_text(error, registry, command)


def _explain_text(error: Exception, registry: Registry, command: Command) -> ConvragError:
    """The error for an exception whose message alone, or whose cause, says what is wrong."""
    text = str(error)
    # Under a debugger OmegaConf's own errors have a cause, which says less.
    cause = (
        error
        if isinstance(error, OmegaConfBaseException)
        else error.__cause__ or error.__context__ or error
    )
    if match := _SEVERAL.search(text):
        key, _, value = match[1].partition("=")
        return ConfigError(
            f"{match[1]}: several values make a grid, which needs -m (--multirun): -m {match[1]}. "
            f"One value that is a list is written {key}=[{value}]"
        )
    if (match := _KEY.search(text)) and not match[1].startswith(
        "hydra."
    ):  # of its own keys Hydra speaks best
        return cite(
            _unknown_key(match[1], registry, cause, command), command, match[1].partition("@")[0]
        )
    if isinstance(cause, (ConfigKeyError, ConfigAttributeError)) and (
        match := _FULL_KEY.search(str(cause))
    ):
        found = cite(_unknown_key(match[1], registry, cause, command), command, match[1])
        return found if command.sets(match[1]) else cite_only_file(found, command)
    if isinstance(cause, ValidationError) and (match := _MERGE.search(text)):
        return ConfigError(f"{match[1]}: {str(cause).splitlines()[0]}")
    plain = _plain_error(cause if isinstance(cause, OmegaConfBaseException) else error)
    typed = next((override for override in command.overrides if "${" in override), "")
    if typed and "nterpolation" in str(plain):
        return ConfigError(f"{typed}: {plain}")
    return cite_only_file(cite(plain, command), command)


def _plain_error(error: BaseException) -> ConfigError:
    """The message in a line, with the key before it where it has one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    match = _FULL_KEY.search(str(error)) if isinstance(error, OmegaConfBaseException) else None
    if match:
        return ConfigError(f"{match[1]}: {lines[0]}")
    message = " ".join(lines) or "this configuration cannot be composed"
    return ConfigError(
        f"{message} ({type(error).__name__})" if isinstance(error, _ODD_ERRORS) else message
    )


def _explain_unknown_option(
    error: MissingConfigException, registry: Registry, command: Command
) -> ConvragError:
    group, _, name = str(error.missing_cfg_file).removesuffix(".yaml").rpartition("/")
    try:
        registry.check_name(group, name)
    except PluginError as refused:
        return refused
    return cite(
        registry.make_unknown(group, name, error.options or registry.options(group)), command
    )


def _unknown_key(
    key: str, registry: Registry, cause: BaseException, command: Command
) -> ConfigError:
    """The error for a key that is not there; `cause` is OmegaConf's, which knows where it stopped."""
    typed = any(override.startswith(f"{key}=") for override in command.overrides)
    if typed and key in PRESETS:
        return ConfigError(
            f"{key}=... chooses options of several groups, and is written with a plus: +{key}=..."
        )
    if not typed and (key.partition("@")[2] or key).partition(".")[0] in PRESETS:
        what = "a file that sets several stages begins with '# @package _global_'"
        return cite_only_file(ConfigError(what), command)
    if "@" in key:
        return _unknown_place(key, registry)
    node, stopped = (
        getattr(cause, "parent_node", None),
        str(getattr(cause, "full_key", None) or key),
    )
    place, _, name = stopped.rpartition(".")
    group = place.partition(".")[0]
    if group not in GROUPS or not isinstance(node, DictConfig):
        return explain_unknown_setting(key)
    at = group if place in GROUPS or group in SEVERAL else stage_at(place, registry)
    if OPTION_KEY in node and at:
        option = registry.get(at, node[OPTION_KEY])
        return explain_unknown_parameter(
            place, option, name, registry, command.names.get(place, "")
        )
    if at and place not in GROUPS:
        return explain_unchosen(place, at, name)
    return ConfigError(
        f"{key}=...: {place} has no entry {name!r} yet; one more is written with a plus: +{key}=..."
    )


def _unknown_place(key: str, registry: Registry) -> ConfigError:
    """A stage is chosen ("clusterer@rewriter.clusterer") for one that takes none."""
    wanted, _, place = key.partition("@")
    group, _, name = place.partition(".")
    if group not in GROUPS:
        return UnknownName("option", group, GROUPS)
    takers = [
        option.name
        for option in registry.options(group).values()
        if name in option.injected_groups()
    ]
    choices = ", ".join(f"{group}={taker}" for taker in takers) or "no option"
    return ConfigError(
        f"{place}=...: the chosen {group} takes no {wanted} of its own. It belongs to {choices}."
    )


def check_choices(overrides: Iterable[str], registry: Registry) -> None:
    """Raise ConfigError for an override that chooses two options of a group, or none:
    `rewriter=[mmr,dhrag]`.
    """
    for override in overrides:
        key, _, value = override.lstrip("+").partition("=")
        group = key.partition("@")[0]
        if not key:
            raise ConfigError(f"{override}: {_advise(override, registry)}")
        if override.startswith("+") and key in GROUPS:
            raise ConfigError(f"{override}: a {key} is chosen without a plus: {key}={value}")
        if group in GROUPS and any(
            _NO_NAME.fullmatch(name.strip()) for name in value.strip("[] ").split(",")
        ):
            raise ConfigError(
                f"{override}: an option has a name; choose from: {', '.join(registry.options(group))}"
            )
        if group in GROUPS and group not in SEVERAL and value.startswith("[") and "," in value:
            grid = f"-m {key}={value.strip('[] ')}"
            raise ConfigError(
                f"{override}: a run has one {group}. A grid has one after the other: {grid}"
            )


def _advise(argument: str, registry: Registry) -> str:
    """What to type instead; empty where only Hydra knows what is wrong."""
    key, equals, value = argument.partition("=")
    if not equals:
        return _advise_on_word(argument.strip().lstrip("-+~"), registry)
    if not key.strip("+~ "):
        return "the key is missing before '='. An override is written key=value"
    if key != key.strip() or value != value.lstrip():
        return f"an override has no blanks beside '=': {key.strip()}={value.strip()}"
    if value.endswith(","):
        return f"there are no blanks between values: {key}={value}NAME"
    if any(sign in value for sign in "=;:{}[]()'\"\\~&|<>!^`") and not value.startswith(
        ("[", "{", "'", '"')
    ):
        return f"a value with such signs stands in quotation marks, twice for the shell: '{key}=\"{value}\"'"
    return ""


def _advise_on_word(word: str, registry: Registry) -> str:
    """What a word without "=" may stand for."""
    if word in GROUPS:
        choices = ",".join([*registry.options(word), *variants(word)])
        more = f"python -m convrag task=plugins task.stage={word}"
        return f"write {word}=NAME, or -m {word}=NAME,NAME, without blanks: {choices}. {more} tells of them"
    tasks = {each: f"task={each}" for each in registry.options("task")}
    groups = {each: f"{each}=NAME" for each in GROUPS} | {each: f"+{each}=NAME" for each in PRESETS}
    options = {
        name: f"{group}={name}"
        for group in GROUPS
        for name in [*registry.options(group), *variants(group)]
    }
    words = options | groups | tasks
    similar = get_close_matches(word.casefold(), words, n=1)
    guess = f" Did you mean {words[similar[0]]}?" if similar else ""
    return (
        f"this is no override: these are written key=value, without blanks beside '='.{guess} What convrag does beside "
        f"running an experiment: {', '.join(tasks.values())}. --help lists all"
    )
