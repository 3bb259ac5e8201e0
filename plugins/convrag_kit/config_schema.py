"""Builds the JSON schema of the configuration, by which editors complete and check YAML.

It is draft 7, which the language servers of editors know best. A preset, or a file of
--config-name, is checked by the whole (`conf.schema.json`), a variant of a group by its part
(`conf.schema.json#/definitions/rewriter`).
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Union, cast, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, WithJsonSchema
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict  # the one of Python 3.11 does not tell pydantic all

from convrag import ConfigError, ConvragError
from convrag.sdk.files import write_atomically
from convrag.sdk.groups import GROUPS, OPTION_KEY, SEVERAL, options_group
from convrag.sdk.output.console import make_console
from convrag.sdk.tasks.configuration import PRESETS, Settings, user_folder
from convrag.sdk.tasks.options import (
    Option,
    Parameter,
    describe_option,
    plain_value,
    plugins,
    variants,
)
from convrag_kit.inventory import find_base, find_variants, list_groups

Schema = dict[str, Any]

_LATER = {"type": "string", "pattern": r"^\?\?\?$|\$\{"}
"""A reference to a value given elsewhere: `???` or `${oc.env:PORT}`."""


class _Values(GenerateJsonSchema):
    """Describes the values of YAML.

    A text may be written as a number (a path may be called 2024), an enum by the names of its
    members, and a class without a JSON form accepts anything.
    """

    def generate_inner(self, schema: Any) -> Schema:
        made = super().generate_inner(schema)
        if made.get("type") == "string" and made != _LATER:
            return {**made, "type": ["string", "number"]}
        return made

    def enum_schema(self, schema: Any) -> Schema:
        return {"enum": [*schema["cls"].__members__]}

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
        return {}


def write_schema(file: Path) -> None:
    """Write the schema, and print how a YAML file names it. Raises ConfigError."""
    try:
        write_atomically(file, json.dumps(build_schema(), indent=1, default=str) + "\n")
    except OSError as error:
        raise ConfigError(f"task.schema={file}: it cannot be written: {error.strerror}") from error
    line = f"# yaml-language-server: $schema={file.absolute()}"
    text = (
        f"Wrote {file}. The line of a preset: {line}\n"
        f"Of a variant of a rewriter: {line}#/definitions/rewriter"
    )
    make_console().print(text, soft_wrap=True)


def build_schema() -> Schema:
    """Build the schema of all installed options, variants and presets, with --config-dir's."""
    options = {group: plugins.load().registry.options(group) for group in GROUPS}
    names = _list_names(options)
    definitions: Schema = {}
    for group in list_groups():
        for name, option in options[group].items():
            definitions[f"{group}.{name}"] = _describe_option(option, names[group])
        definitions[group] = {"anyOf": [_refer(f"{group}.{name}") for name in options[group]]}
    for group, known in names.items():
        one = {"enum": [*sorted(known), None]}
        several = {"type": "array", "items": {"enum": sorted(known)}}
        definitions[f"{group}.choice"] = {"anyOf": [one, several, _LATER]}
    definitions["defaults"] = _describe_defaults(names)
    settings = _describe(_list_settings(Settings), "settings")
    definitions["settings"] = settings
    properties = {
        **settings["properties"],
        **_describe_stages(options),
        "defaults": _refer("defaults"),
        "hydra": {"type": "object"},
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "convrag",
        **_make_object(properties),
        "definitions": definitions,
    }


def _list_names(options: Mapping[str, Mapping[str, Option]]) -> dict[str, set[str]]:
    """List the names of each group's options, variants and presets, with --config-dir's."""
    names = {group: {*options.get(group, ()), *variants(group)} for group in (*GROUPS, *PRESETS)}
    if user_folder.path:
        for file in user_folder.path.glob("*/*.yaml"):
            names.setdefault(file.parent.name, set()).add(file.stem)
    return names


def _describe_defaults(groups: Iterable[str]) -> Schema:
    """Describe a defaults list: names of files, and choices for groups."""
    properties: Schema = {}
    patterns: Schema = {}
    for group in groups:
        choice = _refer(f"{group}.choice")
        properties[group] = choice
        properties[f"override /{group}"] = choice
        patterns[rf"^(optional )?(override )?/?{re.escape(group)}(@.*)?$"] = choice
    patterns["^(optional )?(override )?/?hydra/"] = {}
    entry = {**_make_object(properties), "patternProperties": patterns}
    return {"type": "array", "items": {"anyOf": [{"type": "string"}, entry]}}


def _describe_stages(options: Mapping[str, Mapping[str, Option]]) -> Schema:
    """Describe the parameters of each stage: one option's, or several options' by name."""
    stages: Schema = {}
    for group, stage in GROUPS.items():
        if group in SEVERAL:
            members = {name: _refer(f"{group}.{name}") for name in options[group]}
            stages[group] = _make_object(members)
        else:
            parameters = [_refer(options_group(group)), _LATER]
            stages[group] = {"description": stage.__doc__, "anyOf": parameters}
    return stages


def _describe_option(option: Option, names: set[str]) -> Schema:
    """Describe the parameters of an option, in a configuration or in the file of a variant.

    A variant names in `defaults` the option that it extends.

    Args:
        option: the option; one that cannot be read accepts any parameters.
        names: the names of the group's options and variants.
    """
    try:
        helps = {each.name: each.help for each in describe_option(option).parameters}
        members = {name: _type(option.parameters[name], text) for name, text in helps.items()}
        made = _describe(members, f"{option.group}.{option.name}")
    except Exception as error:  # evaluating an annotation of a plugin may raise anything
        description = str(error) if isinstance(error, ConvragError) else option.help
        return {"description": description, "type": "object"}
    for name, group in option.injected_groups().items():
        choices = [_refer(f"{group}.choice"), _refer(options_group(group))]
        made["properties"][name] = {"description": helps[name], "anyOf": choices}
    known_variants = find_variants(option.group)
    options = plugins.load().registry.options(option.group)
    bases = {name: find_base(name, known_variants, options) for name in names - options.keys()}
    extending = [name for name, base in bases.items() if base in (option.name, name)]
    extended = "|".join(map(re.escape, sorted([option.name, *extending])))
    base = {"contains": {"type": "string", "pattern": rf"^(/?\w+/)?({extended})(@.*)?$"}}
    made["properties"] |= {
        OPTION_KEY: {"const": option.name},
        "defaults": {"allOf": [_refer("defaults"), base]},
    }
    return {**made, "description": option.help}


def _type(parameter: Parameter, description: str) -> Any:
    """Annotate the type of a parameter with its limits, default and description."""
    if parameter.group:
        return _annotate(Any, description)
    limited = Annotated[(parameter.type, *parameter.limits)] if parameter.limits else parameter.type
    if parameter.required:
        return _annotate(limited, description)
    return _annotate(limited, description, default=plain_value(parameter.default))


def _annotate(annotation: Any, description: str, **extra: Any) -> Any:
    """Annotate a type with its description; a reference is accepted as well."""
    later = Annotated[Any, WithJsonSchema(_LATER)]
    field = Field(description=description, json_schema_extra=extra)
    return Annotated[Union[annotation, later], field]  # noqa: UP007


def _list_settings(cls: Any) -> dict[str, Any]:
    """List the fields of a dataclass of settings as annotations by name, nested ones included."""
    found = {}
    hints = get_type_hints(cls)
    for each in fields(cls):
        kind = hints[each.name]
        if is_dataclass(kind):
            found[each.name] = _make_type(_list_settings(kind))
        else:
            found[each.name] = _annotate(kind, each.metadata["help"])
    return found


def _make_type(members: Mapping[str, Any]) -> Any:
    made = cast(Any, TypedDict)("Members", members, total=False)
    made.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    return made


def _describe(members: Mapping[str, Any], definition: str) -> Schema:
    """Describe an object with annotated members; their own definitions stay in the definition."""
    template = f"#/definitions/{definition}/$defs/{{model}}"
    made: Schema = TypeAdapter(_make_type(members)).json_schema(
        ref_template=template, schema_generator=_Values
    )
    return made


def _make_object(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _refer(definition: str) -> Schema:
    return {"$ref": f"#/definitions/{definition}"}
