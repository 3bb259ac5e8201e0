"""Requests against the published OpenAPI description of Elasticsearch, for what no engine here has:
ELSER and licences.

It is read as it is written, but for two things: `oneOf` means "at least one of", since many of its
choices overlap, and a number of properties counts those that stand beside it alone, so that no
request could be valid. The top of a body has no property that is not described.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from fixtures import SHARED

PATH = SHARED / "data" / "elasticsearch-openapi.json.gz"
_LEFT_OUT = (
    "minProperties",
    "maxProperties",
    "discriminator",
    "description",
    "example",
    "externalDocs",
)


@cache
def read_description() -> Any:
    """Read the description; None where it is absent, and then nothing is checked against it."""
    if not PATH.is_file():
        return None
    with gzip.open(PATH) as file:
        return _rewrite(json.load(file))


def find_problem(method: str, target: str, body: bytes) -> str:
    """Say what about a request is not as described; empty where nothing is."""
    document = read_description()
    path = unquote(urlsplit(target).path)
    if document is None or path == "/":
        return ""
    if (operation := _find_operation(document, method, path)) is None:
        return f"{method} {path} is not described"
    if path == "/_msearch":
        lines = [json.loads(line) for line in body.splitlines()]
        header, search = (
            "_global.msearch.MultisearchHeader",
            "_global.search._types.SearchRequestBody",
        )
        checked = [
            ({"$ref": f"#/components/schemas/{(header, search)[n % 2]}"}, line)
            for n, line in enumerate(lines)
        ]
    elif path.endswith("/_bulk") or not body:
        checked = []
    else:
        described = _follow(document, operation.get("requestBody", {}))
        if not described:
            return f"{method} {path} takes no body"
        checked = [(described["content"]["application/json"]["schema"], json.loads(body))]
    return next(
        filter(None, (_find_body_problem(document, *each, f"{method} {path}") for each in checked)),
        "",
    )


def _find_body_problem(document: Any, schema: Any, body: Any, where: str) -> str:
    known = set(_list_properties(document, schema))
    if known and (unknown := body.keys() - known):
        return f"{where}: {sorted(unknown)} are not described"
    error = best_match(
        Draft202012Validator({**schema, "components": document["components"]}).iter_errors(body)
    )
    return (
        f"{where}: at {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        if error
        else ""
    )


def _find_operation(document: Any, method: str, path: str) -> Any:
    """The operation of a path; the one with the fewest variables where several fit."""
    found = [
        (template.count("{"), item[method.lower()])
        for template, item in document["paths"].items()
        if method.lower() in item and re.fullmatch(re.sub(r"\{\w+\}", "[^/_][^/]*", template), path)
    ]
    return min(found, key=lambda each: each[0])[1] if found else None


def _list_properties(document: Any, schema: Any) -> Iterator[str]:
    schema = _follow(document, schema)
    yield from schema.get("properties", {})
    for part in (*schema.get("allOf", ()), *schema.get("anyOf", ())):
        yield from _list_properties(document, part)


def _follow(document: Any, value: Any) -> Any:
    while "$ref" in value:
        _, _, kind, name = value["$ref"].split("/", 3)
        value = document["components"][kind][name]
    return value


def _rewrite(value: Any) -> Any:
    if isinstance(value, list):
        return [_rewrite(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {
        key: _rewrite(each)
        for key, each in value.items()
        if key not in _LEFT_OUT or isinstance(each, dict)
    }
    return {"anyOf" if key == "oneOf" else key: each for key, each in kept.items()}
