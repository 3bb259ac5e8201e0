"""The configuration as a JSON schema, by which editors complete and check YAML: groups, options,
and their parameters.

It is of draft 7, which the language servers of editors know best. A preset, or a file of
--config-name, is checked by the whole (`conf.schema.json`), a variant of a group by its part
(`conf.schema.json#/definitions/rewriter`).
"""

import json
import re
from collections.abc import Mapping
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
"""A value that stands elsewhere: `???` or `${oc.env:PORT}`."""


class _Values(GenerateJsonSchema):
    """Describes the values of YAML.

    A number may stand for a text (a path may be called 2024), an enum goes by the names of its
    members, and a class that has no JSON may be anything.
    """

    def generate_inner(self, schema: Any) -> Schema:
        made = super().generate_inner(schema)
        return (
            {**made, "type": ["string", "number"]}
            if made.get("type") == "string" and made != _LATER
            else made
        )

    def enum_schema(self, schema: Any) -> Schema:
        return {"enum": [*schema["cls"].__members__]}

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
        return {}


def write_schema(file: Path) -> None:
    """Write the schema, and say how a YAML file names it. Raises ConfigError where it cannot be
    written.
    """
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
    """The schema of every option that is installed, and of the variants and presets, those of
    --config-dir included.
    """
    options = {group: plugins.load().registry.options(group) for group in GROUPS}
    names = {group: {*options.get(group, ()), *variants(group)} for group in (*GROUPS, *PRESETS)}
    for file in user_folder.path.glob("*/*.yaml") if user_folder.path else ():
        names.setdefault(file.parent.name, set()).add(file.stem)
    definitions: Schema = {}
    for group in list_groups():
        for name, option in options[group].items():
            definitions[f"{group}.{name}"] = _describe_option(option, names[group])
        definitions[group] = {"anyOf": [_refer(f"{group}.{name}") for name in options[group]]}
    for group, known in names.items():
        several = {"type": "array", "items": {"enum": sorted(known)}}
        definitions[f"{group}.choice"] = {
            "anyOf": [{"enum": [*sorted(known), None]}, several, _LATER]
        }
    chosen = {group: _refer(f"{group}.choice") for group in names}
    keys = {key: each for group, each in chosen.items() for key in (group, f"override /{group}")}
    patterns = {
        rf"^(optional )?(override )?/?{re.escape(group)}(@.*)?$": each
        for group, each in chosen.items()
    }
    entry = {
        **_make_object(keys),
        "patternProperties": {**patterns, "^(optional )?(override )?/?hydra/": {}},
    }
    definitions["defaults"] = {"type": "array", "items": {"anyOf": [{"type": "string"}, entry]}}
    stages = {
        g: {"description": c.__doc__, "anyOf": [_refer(options_group(g)), _LATER]}
        for g, c in GROUPS.items()
    }
    stages |= {
        group: _make_object({name: _refer(f"{group}.{name}") for name in options[group]})
        for group in SEVERAL
    }
    settings = _describe(_list_settings(Settings), "settings")
    properties = {
        **settings["properties"],
        **stages,
        "defaults": _refer("defaults"),
        "hydra": {"type": "object"},
    }
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "convrag"}
    return {
        **head,
        **_make_object(properties),
        "definitions": {**definitions, "settings": settings},
    }


def _describe_option(option: Option, names: set[str]) -> Schema:
    """The parameters of an option, at its place or in the file of a variant, which names in
    `defaults` what it extends.

    Args:
        option: one that cannot be read has any.
        names: of the group's options and variants.
    """
    try:
        told = {each.name: each.help for each in describe_option(option).parameters}
        made = _describe(
            {n: _type(option.parameters[n], t) for n, t in told.items()},
            f"{option.group}.{option.name}",
        )
    except Exception as error:  # evaluating an annotation of a plugin may raise anything
        return {
            "description": str(error) if isinstance(error, ConvragError) else option.help,
            "type": "object",
        }
    for name, group in option.injected_groups().items():
        choices = [_refer(f"{group}.choice"), _refer(options_group(group))]
        made["properties"][name] = {"description": told[name], "anyOf": choices}
    known, others = find_variants(option.group), plugins.load().registry.options(option.group)
    free = (
        name
        for name in names
        if name not in others and find_base(name, known, others) in (option.name, name)
    )
    extended = "|".join(map(re.escape, sorted([option.name, *free])))
    base = {"contains": {"type": "string", "pattern": rf"^(/?\w+/)?({extended})(@.*)?$"}}
    made["properties"] |= {
        OPTION_KEY: {"const": option.name},
        "defaults": {"allOf": [_refer("defaults"), base]},
    }
    return {**made, "description": option.help}


def _type(parameter: Parameter, told: str) -> Any:
    """The annotation of a parameter with its limits, its default and what is said of it."""
    limited = Annotated[(parameter.type, *parameter.limits)] if parameter.limits else parameter.type
    default = (
        {} if parameter.required or parameter.group else {"default": plain_value(parameter.default)}
    )
    return _annotate(Any if parameter.group else limited, told, **default)


def _annotate(annotation: Any, told: str, **extra: Any) -> Any:
    later = Annotated[Any, WithJsonSchema(_LATER)]
    return Annotated[Union[annotation, later], Field(description=told, json_schema_extra=extra)]  # noqa: UP007


def _list_settings(cls: Any) -> dict[str, Any]:
    """The settings that are fields of a dataclass, which may be one themselves, as annotations by
    name.
    """
    found = {}
    for each in fields(cls):
        kind = get_type_hints(cls)[each.name]
        group = is_dataclass(kind) and _make_type(_list_settings(kind))
        found[each.name] = group or _annotate(kind, each.metadata["help"])
    return found


def _make_type(members: Mapping[str, Any]) -> Any:
    made = cast(Any, TypedDict)("Members", members, total=False)
    made.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    return made


def _describe(members: Mapping[str, Any], definition: str) -> Schema:
    """An object with these annotated members; what they define stays in the definition."""
    template = f"#/definitions/{definition}/$defs/{{model}}"
    made: Schema = TypeAdapter(_make_type(members)).json_schema(
        ref_template=template, schema_generator=_Values
    )
    return made


def _make_object(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _refer(definition: str) -> Schema:
    return {"$ref": f"#/definitions/{definition}"}
