"""/docs: the OpenAPI description as a page without a script, since the usual one loads its script from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from fastapi import APIRouter
from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

_TEMPLATE = "docs.html.jinja"


def make_router() -> APIRouter:
    """Make the route."""
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    async def show_docs(request: Request) -> Response:
        return HTMLResponse(format_description(request.app.openapi()))

    return router


def format_description(description: Mapping[str, Any]) -> str:
    """An OpenAPI description as HTML."""
    source = (resources.files("convrag_web.server") / _TEMPLATE).read_text(encoding="utf-8")
    template = Environment(autoescape=True).from_string(source)
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            row = {**operation, "path": path, "method": method.upper(), "bodies": list(_list_bodies(operation))}
            groups.setdefault(", ".join(operation.get("tags", ["Other"])), []).append(row)
    schemas = description.get("components", {}).get("schemas", {})
    texts = [(name, {**schema, "text": json.dumps(schema, indent=2)}) for name, schema in sorted(schemas.items())]
    return template.render(info=description["info"], groups=groups.items(), schemas=texts)


def _list_bodies(operation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is sent and what comes back, each with its type and its schema."""
    bodies = {"Request": operation.get("requestBody", {})} | {
        f"Reply {status}": reply for status, reply in operation["responses"].items()
    }
    for title, body in bodies.items():
        for kind, content in body.get("content", {}).items():
            yield f"{title}: {kind}", json.dumps(content.get("schema", {}), indent=2)
