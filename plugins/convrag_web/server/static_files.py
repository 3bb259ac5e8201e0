"""The files of the chat page, of the turn view and of /docs, read once: no address ever reaches the file system."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from importlib import resources
from importlib.resources.abc import Traversable

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

FOLDERS = ("page", "view", "docs")
"""Folders of convrag_web whose files are served below /static/."""

INDEX = "/static/page/index.html"

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "ico": "image/x-icon",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "md": "text/plain; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "woff2": "font/woff2",
}
"""What is served, by the ending of its name; a licence has none and is a text. The rest, as *.py, is not."""


class StaticFile:
    """A file: its bytes, its type, and a tag by which a browser knows that it has it already."""

    def __init__(self, content: bytes, kind: str) -> None:
        self.content = content
        self.kind = kind
        self.tag = f'"{blake2b(content, digest_size=12).hexdigest()}"'

    def to_reply(self, request: Request) -> Response:
        """The file, or 304 where the browser has it."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.kind, headers=headers)


def read_static_files() -> dict[str, StaticFile]:
    """Read the files: "/static/page/index.html" -> its content."""
    root = resources.files("convrag_web")
    return {
        f"/static/{name}": StaticFile(file.read_bytes(), kind)
        for folder in FOLDERS
        for name, file in _walk(root / folder, folder)
        if (kind := _find_type(file.name))
    }


def make_router() -> APIRouter:
    """Make the routes of the files."""
    files = read_static_files()
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def show_page(request: Request) -> Response:
        return _find(files, INDEX).to_reply(request)

    @router.get("/favicon.ico")
    async def show_icon(request: Request) -> Response:
        for name in ("favicon.svg", "favicon.ico", "favicon.png"):
            if file := files.get(f"/static/page/{name}"):
                return file.to_reply(request)
        return Response(status_code=204)

    @router.get("/static/{name:path}")
    async def show_file(name: str, request: Request) -> Response:
        return _find(files, f"/static/{name}").to_reply(request)

    return router


def _find(files: dict[str, StaticFile], path: str) -> StaticFile:
    if path not in files:
        raise HTTPException(404, "there is no such file")
    return files[path]


def _walk(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    if folder.is_dir():
        for entry in folder.iterdir():
            yield from _walk(entry, f"{name}/{entry.name}")
    elif folder.is_file():
        yield name, folder


def _find_type(name: str) -> str:
    """The type of a file; empty where it is not served."""
    stem, _, ending = name.rpartition(".")
    return _TYPES.get(ending.lower(), "") if stem else _TYPES["txt"]
