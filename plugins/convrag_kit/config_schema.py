"""The configuration as a JSON schema, by which editors complete and check YAML: groups, options, and their parameters.

It is of draft 7, which the language servers of editors know best. A preset, or a file of --config-name, is checked by
the whole (`conf.schema.json`), a variant of a group by its part (`conf.schema.json#/definitions/rewriter`).
"""

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Union, get_type_hints

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, WithJsonSchema
from pydantic.json_schema import GenerateJsonSchema

from convrag import ConfigError, ConvragError
from convrag.sdk.console import make_console
from convrag.sdk.files import write_atomically
from convrag.sdk.groups import GROUPS, OPTION_KEY, SEVERAL, options_group
from convrag.sdk.tasks.configuration import PRESETS, Settings, user_folder
from convrag.sdk.tasks.options import Option, Parameter, describe_option, plain_value, plugins, variants, variants_of
from convrag_kit.inventory import list_groups

Schema = dict[str, Any]

_LATER = {"type": "string", "pattern": r"^\?\?\?$|\$\{"}
"""A value that stands elsewhere: `???` or `${oc.env:PORT}`."""


class _Values(GenerateJsonSchema):
    """What YAML holds for an annotation: the names of an enum, and anything for a class that has no JSON."""

    def enum_schema(self, schema: Any) -> Schema:
        return {"enum": [*schema["cls"].__members__]}

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
        return {}


def write_schema(file: Path) -> None:
    """Write the schema, and say how a YAML file names it. Raises ConfigError where it cannot be written."""
    try:
        write_atomically(file, json.dumps(build_schema(), indent=1, default=str) + "\n")
    except OSError as error:
        raise ConfigError(f"task.schema={file}: it cannot be written: {error.strerror}") from error
    line = f"# yaml-language-server: $schema={file.absolute()}"
    make_console().print(
        f"Wrote {file}. The line of a preset: {line}\nOf a variant of a rewriter: {line}#/definitions/rewriter",
        highlight=False,
        soft_wrap=True,
    )


def build_schema() -> Schema:
    """The schema of every option that is installed, and of the variants and presets, those of --config-dir included."""
    own = _list_own_files()
    names = {group: {*plugins.load().registry.options(options_group(group)), *variants(group)} for group in GROUPS}
    names |= {group: {*variants(group)} for group in PRESETS}
    names |= {group: names.get(group, set()) | files for group, files in own.items()}
    definitions: Schema = {"defaults": _describe_defaults(names)}
    for group in list_groups():
        options = plugins.load().registry.options(group)
        definitions |= {
            f"{group}.{name}": _describe_option(each, own.get(group, set())) for name, each in options.items()
        }
        definitions[group] = {"anyOf": [_refer(f"{group}.{name}") for name in options]}
        definitions[f"{group}.choice"] = {
            "anyOf": [{"enum": [*sorted(names[group]), None]}, _refer(group), _LATER],
        }
    stages = {group: _describe_group(group) for group in GROUPS}
    settings = _describe_fields(Settings, "#/properties")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "convrag",
        **_make_object({**settings, **stages, "defaults": _refer("defaults"), "hydra": {"type": "object"}}),
        "definitions": definitions,
    }


def _list_own_files() -> dict[str, set[str]]:
    """Group -> the names of the user's YAML files in the folder of --config-dir."""
    files = sorted(user_folder.path.glob("*/*.yaml")) if user_folder.path else []
    return {file.parent.name: {each.stem for each in files if each.parent == file.parent} for file in files}


def _describe_defaults(names: Mapping[str, Iterable[str]]) -> Schema:
    """The defaults list, an option of a group in an entry: `override /rewriter: mmr`, `/embedder@rewriter.embedder`."""
    chosen = {
        group: {"anyOf": [{"enum": [*sorted(each), None]}, {"type": "array", "items": {"enum": sorted(each)}}, _LATER]}
        for group, each in names.items()
    }
    entry = {
        **_make_object({key: each for group, each in chosen.items() for key in (group, f"override /{group}")}),
        "patternProperties": {
            **{rf"^(optional )?(override )?/?{re.escape(group)}(@.*)?$": each for group, each in chosen.items()},
            "^(optional )?(override )?/?hydra/": {},
        },
    }
    return {"type": "array", "items": {"anyOf": [{"type": "string"}, entry]}}


def _describe_group(group: str) -> Schema:
    """The place of a group's stage in a configuration; of several, by their names."""
    told = (inspect.getdoc(GROUPS[group]) or "").partition("\n")[0]
    if group not in SEVERAL:
        return {"description": told, "anyOf": [_refer(options_group(group)), _LATER]}
    return {
        "description": told,
        **_make_object({n: _refer(f"{group}.{n}") for n in plugins.load().registry.options(group)}),
    }


def _describe_option(option: Option, own: set[str]) -> Schema:
    """The parameters of an option, at its place or in the file of a variant, which names in `defaults` what it extends.

    Args:
        option: one that cannot be read has any.
        own: the names of the user's variants of the group.
    """
    key = f"{option.group}.{option.name}"
    try:
        told = {each.name: each.help for each in describe_option(option).parameters}
    except Exception as error:  # evaluating an annotation of a plugin may raise anything
        return {"description": str(error) if isinstance(error, ConvragError) else option.help, "type": "object"}
    members = {
        name: _describe_parameter(option.parameters[name], f"#/definitions/{key}/properties/{name}", text)
        for name, text in told.items()
    }
    extended = "|".join(map(re.escape, sorted(_list_extensions(option) | own)))
    base = {"contains": {"type": "string", "pattern": rf"^(/?\w+/)?({extended})(@.*)?$"}}
    members |= {OPTION_KEY: {"const": option.name}, "defaults": {"allOf": [_refer("defaults"), base]}}
    return {"description": option.help, **_make_object(members)}


def _list_extensions(option: Option) -> set[str]:
    """The name of an option, and those of the variants that extend it, or one another of these."""
    found = {option.name}
    extended = {each.name: each.extends for each in variants_of(option.group)}
    while more := {name for name, base in extended.items() if base in found} - found:
        found |= more
    return found


def _describe_parameter(parameter: Parameter, place: str, told: str) -> Schema:
    if parameter.group:
        return {"description": told, "anyOf": [_refer(f"{options_group(parameter.group)}.choice")]}
    limited = Annotated[(parameter.type, *parameter.limits)] if parameter.limits else parameter.type
    default = {} if parameter.required else {"default": plain_value(parameter.default)}
    return {"description": told, **_describe_type(limited, place), **default}


def _describe_fields(cls: Any, place: str) -> dict[str, Schema]:
    """The settings that are fields of a dataclass, which may be one themselves."""
    hints = get_type_hints(cls)
    found = {}
    for each in fields(cls):
        here = f"{place}/{each.name}"
        if is_dataclass(hints[each.name]):
            found[each.name] = _make_object(_describe_fields(hints[each.name], f"{here}/properties"))
        else:
            found[each.name] = {**_describe_type(hints[each.name], here), "description": each.metadata["help"]}
    return found


def _describe_type(annotation: Any, place: str) -> Schema:
    """The values of an annotation; what it defines stays at its place, a JSON pointer."""
    config = ConfigDict(arbitrary_types_allowed=True)
    try:
        adapter = TypeAdapter(Union[annotation, Annotated[Any, WithJsonSchema(_LATER)]], config=config)  # noqa: UP007
    except PydanticUserError:  # it is none that pydantic knows
        return {}
    made = adapter.json_schema(ref_template=f"{place}/$defs/{{model}}", schema_generator=_Values)
    return {key: _with_numbers(each) for key, each in made.items()}


def _with_numbers(schema: Any) -> Any:
    """A schema in which a number is a text as well: a path may be called 2024."""
    if isinstance(schema, list):
        return [_with_numbers(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    texts = {"type": ["string", "number"]} if schema.get("type") == "string" and "pattern" not in schema else {}
    return {key: _with_numbers(each) for key, each in schema.items()} | texts


def _make_object(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _refer(definition: str) -> Schema:
    return {"$ref": f"#/definitions/{definition}"}
