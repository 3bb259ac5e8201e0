"""Requests and replies against the published OpenAPI description of Elasticsearch.

The description is read more strictly than it is written: a property that it does not know is an error. In four things
it cannot be taken at its word, since no request could be valid then:

* `oneOf` means "at least one of": many of its choices overlap (a header of msearch is a search without any part).
* `minProperties` and `maxProperties` of 1 count the properties that stand beside them, not those of the other members
  of the same allOf (a sparse_vector query could not have a field).
* Where a body is NDJSON, its lines are checked by their place: action and source, header and search.
* It describes Elastic's serverless product, whose users choose no number of shards: index settings may have one.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from fixtures import SHARED

PATH = SHARED / "data" / "elasticsearch-openapi.json.gz"
_KEPT = {"type", "enum", "required", "minimum", "maximum", "minItems", "maxItems", "pattern", "const"}
_SETTINGS = "indices._types.IndexSettings"
_JSON = "application/vnd.elasticsearch+json"
_NDJSON = "application/vnd.elasticsearch+x-ndjson"


class Invalid(AssertionError):
    """A request or a reply that is not as described."""


@cache
def specification(path: Path = PATH) -> Specification:
    """The description, read once."""
    return Specification(path)


class Specification:
    """Checks requests and replies; `problems` are what it finds wrong."""

    def __init__(self, path: Path) -> None:
        with gzip.open(path) as file:
            self.document = json.load(file)
        self.components = self.document["components"]
        self.components["schemas"][_SETTINGS]["properties"]["number_of_shards"] = {"type": "number"}
        self.validators: dict[str, Draft202012Validator] = {}
        self.valid: set[tuple[str, str]] = set()

    def check_request(self, method: str, target: str, headers: Any, body: bytes) -> None:
        """Raise Invalid for a path, a method, a parameter, a header or a body that is not described."""
        path, query = urlsplit(target).path, urlsplit(target).query
        where = f"{method} {path}"
        operation = self._operation(method, path)
        self._check_query(where, operation, dict(parse_qsl(query, keep_blank_values=True)))
        self._check_media(where, headers.get("accept", ""), _JSON)
        described = self._deref(operation.get("requestBody") or {})
        if not body:
            if described.get("required"):
                raise Invalid(f"{where}: there is no body")
            return
        if not described:
            raise Invalid(f"{where} takes no body")
        lines = path.endswith(("/_bulk", "/_msearch"))
        self._check_media(where, headers.get("content-type", ""), _NDJSON if lines else _JSON)
        if lines:
            self._check_lines(where, body)
        else:
            self._check(f"{where}: body", described["content"]["application/json"]["schema"], json.loads(body))

    def check_reply(self, method: str, target: str, status: int, body: Any) -> None:
        """Raise Invalid for a reply that is not described. Errors all have one form."""
        path = urlsplit(target).path
        where = f"{method} {path}: reply {status}"
        operation = self._operation(method, path)
        if method == "HEAD":
            return
        if status >= 400:
            self._check(where, {"$ref": "#/components/schemas/_types.ErrorResponseBase"}, body)
            return
        described = self._deref(operation["responses"]["200"])
        self._check(where, described["content"]["application/json"]["schema"], body)

    def _operation(self, method: str, path: str) -> dict[str, Any]:
        found = [
            (literal, item[method.lower()] | {"shared": item.get("parameters", [])})
            for template, item in self.document["paths"].items()
            if (literal := _matches(template, path)) is not None and method.lower() in item
        ]
        if not found:
            raise Invalid(f"{method} {path} is not described")
        best = max(literal for literal, _ in found)
        operations = [operation for literal, operation in found if literal == best]
        return min(operations, key=lambda operation: len(operation.get("operationId", "")))  # the general one

    def _check_query(self, where: str, operation: dict[str, Any], given: dict[str, str]) -> None:
        described = [self._deref(item) for item in (*operation["shared"], *operation.get("parameters", []))]
        known = {item["name"]: item["schema"] for item in described if item["in"] == "query"}
        known["filter_path"] = {"type": "string"}  # every request may have it
        for name, value in given.items():
            if name not in known:
                raise Invalid(f"{where} has no parameter {name!r}")
            readings = [value, *_as_json(value)]
            if not any(self._validator(known[name]).is_valid(reading) for reading in readings):
                raise Invalid(f"{where}: {name}={value!r} is not as described")

    def _check_media(self, where: str, given: str, wanted: str) -> None:
        media, _, version = given.partition(";")
        if media.strip() != wanted or version.strip() not in ("compatible-with=8", "compatible-with=9"):
            raise Invalid(f"{where}: {given!r} is no {wanted} with a version")

    def _check_lines(self, where: str, body: bytes) -> None:
        if not body.endswith(b"\n"):
            raise Invalid(f"{where}: the last line does not end")
        lines = [json.loads(line) for line in body.splitlines()]
        first, second = (
            ("_global.bulk.OperationContainer", None)
            if where.endswith("/_bulk")
            else ("_global.msearch.MultisearchHeader", "_global.search._types.SearchRequestBody")
        )
        if len(lines) % 2:
            raise Invalid(f"{where}: an odd number of lines")
        for number, line in enumerate(lines):
            name = second if number % 2 else first
            schema = {"$ref": f"#/components/schemas/{name}"} if name else {"type": "object"}
            self._check(f"{where}: line {number + 1}", schema, line)

    def _check(self, where: str, schema: dict[str, Any], value: Any) -> None:
        known = (json.dumps(schema, sort_keys=True), json.dumps(value))  # tests send the same again and again
        if known in self.valid:
            return
        found = list(self._validator(schema).iter_errors(value))
        causes = [error for error in found if error.validator != "unevaluatedProperties"]  # that follows from others
        error = best_match(causes or found)
        if error is not None:
            place = "/".join(str(step) for step in error.absolute_path)
            raise Invalid(f"{where}: at {place or 'the top'}: {error.message[:500]}")
        self.valid.add(known)

    def _validator(self, schema: dict[str, Any]) -> Draft202012Validator:
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            root = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": self._definitions}
            self.validators[key] = Draft202012Validator(root | self._convert(schema, closed=True))
        return self.validators[key]

    @cached_property
    def _definitions(self) -> dict[str, Any]:
        """Each schema twice: open, as a part of another one, and closed, as it stands by itself (with "!")."""
        schemas = self.components["schemas"]
        open_ = {name: self._convert(schema, closed=False) for name, schema in schemas.items()}
        return open_ | {f"{name}!": self._convert(schema, closed=True) for name, schema in schemas.items()}

    def _convert(self, schema: dict[str, Any], *, closed: bool) -> dict[str, Any]:
        """One schema of OpenAPI 3.0 as JSON Schema."""
        if "$ref" in schema:
            return {"$ref": f"#/$defs/{schema['$ref'].rpartition('/')[2]}{'!' if closed else ''}"}
        result = {name: value for name, value in schema.items() if name in _KEPT}
        if schema.get("nullable") and "type" in result:
            result["type"] = [result["type"], "null"]
        if "enum" in result and schema.get("nullable"):
            result["enum"] = [*result["enum"], None]
        for name in ("oneOf", "anyOf"):
            if name in schema:
                result["anyOf"] = [self._convert(choice, closed=closed) for choice in schema[name]]
        if "allOf" in schema:
            result["allOf"] = [self._convert(member, closed=False) for member in schema["allOf"]]
        if "items" in schema:
            result["items"] = self._convert(schema["items"], closed=True)
        self._convert_properties(schema, result)
        if closed and "anyOf" not in result and next(self._declared(schema, ()), None):
            result["unevaluatedProperties"] = False
        return result

    def _convert_properties(self, schema: dict[str, Any], result: dict[str, Any]) -> None:
        properties = schema.get("properties", {})
        if properties:
            result["properties"] = {name: self._convert(value, closed=True) for name, value in properties.items()}
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            result["additionalProperties"] = self._convert(more, closed=True)
        if properties and schema.get("minProperties") == schema.get("maxProperties") == 1:
            result["oneOf"] = [{"required": [name]} for name in properties]
        else:
            result |= {name: schema[name] for name in ("minProperties", "maxProperties") if name in schema}

    def _declared(self, schema: dict[str, Any], seen: tuple[str, ...]) -> Iterator[str]:
        """The properties that a schema, or a member of it, names."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name not in seen:
                yield from self._declared(self.components["schemas"][name], (*seen, name))
            return
        yield from schema.get("properties", {})
        for member in (*schema.get("allOf", ()), *schema.get("oneOf", ()), *schema.get("anyOf", ())):
            yield from self._declared(member, seen)

    def _deref(self, value: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in value:
            _, _, kind, name = value["$ref"].split("/", 3)
            value = self.components[kind][name]
        return value


def _matches(template: str, path: str) -> int | None:
    """How many segments are literally the same; None where the path is another one."""
    wanted, given = template.strip("/").split("/"), path.strip("/").split("/")
    if len(wanted) != len(given):
        return None
    literal = 0
    for segment, value in zip(wanted, given, strict=True):
        if segment.startswith("{"):
            if not value or (segment == "{index}" and unquote(value).startswith("_")):
                return None
        elif segment != value:
            return None
        else:
            literal += 1
    return literal


def _as_json(value: str) -> list[Any]:
    try:
        return [json.loads(value)]
    except ValueError:
        return []
