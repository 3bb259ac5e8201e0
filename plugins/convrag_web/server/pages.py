"""The pages of the server: the files of the chat page and of the turn view, and /docs.

All files are read once: no address ever reaches the file system. /docs shows the OpenAPI description without a script,
since the usual page loads its script from elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from fastapi import APIRouter
from jinja2 import Environment
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

FOLDERS = ("page", "view", "docs")
"""Folders of convrag_web whose files are served below /static/."""

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
"""Types by the ending of a name; all others, such as licences, are plain text."""

_TEMPLATE = "docs.html.jinja"


def make_router() -> APIRouter:
    """Make the routes."""
    root = resources.files("convrag_web")
    files = {name: file.read_bytes() for folder in FOLDERS for name, file in _walk(root / folder, folder)}
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def show_page(request: Request) -> Response:
        return show_file("page/index.html", request)

    @router.get("/favicon.ico")
    async def show_icon(request: Request) -> Response:
        return show_file("page/favicon.svg", request)

    @router.get("/docs")
    async def show_docs(request: Request) -> Response:
        return HTMLResponse(format_description(request.app.openapi()))

    @router.get("/static/{name:path}")
    async def show_static(name: str, request: Request) -> Response:
        return show_file(name, request)

    def show_file(name: str, request: Request) -> Response:
        """Send a file; or say that the browser has it, which knows that by its tag."""
        if (content := files.get(name)) is None:
            raise HTTPException(404, "there is no such file")
        headers = {"ETag": f'"{blake2b(content, digest_size=12).hexdigest()}"', "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        kind = _TYPES.get(name.rpartition(".")[2], "text/plain; charset=utf-8")
        return Response(content, media_type=kind, headers=headers)

    return router


def _walk(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    """Yield the files below a folder, each with its name; Python's own are none."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{name}/{entry.name}")
        elif not entry.name.endswith((".py", ".pyc")):
            yield f"{name}/{entry.name}", entry


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
