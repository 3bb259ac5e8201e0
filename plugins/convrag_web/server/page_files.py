"""The chat page and the files that it needs."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

FOLDERS = ("page", "view")
"""Folders of convrag_web whose files are served below /static/."""

_ROOT = Path(__file__).parents[1]
_REVALIDATE = {"Cache-Control": "no-cache"}


class PageFiles(StaticFiles):
    """Static files that browsers cache and revalidate each time by their tags."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        """Send a file, or say that the browser's copy is up to date."""
        reply = super().file_response(*args, **options)
        reply.headers.update(_REVALIDATE)
        return reply


def add_page(app: FastAPI) -> None:
    """Add the page and its files to an application."""
    for folder in FOLDERS:
        app.mount(f"/static/{folder}", PageFiles(directory=_ROOT / folder))
    app.add_route("/", lambda _: FileResponse(_ROOT / "page/index.html", headers=_REVALIDATE))
    app.add_route("/favicon.ico", lambda _: FileResponse(_ROOT / "page/favicon.svg"))
