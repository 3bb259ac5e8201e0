"""The page of a document at a passage: where the citations of OpenAI's protocol lead. It needs no script."""

from hmac import compare_digest
from html import escape
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from convrag_web.server.citations import SourceLinks, is_web_address
from convrag_web.server.conversations_api import get_document_id, show_document
from convrag_web.server.errors import ERRORS, RequestError
from convrag_web.server.served_models import ServedModels

_PAGE = (Path(__file__).parents[1] / "page/source.html").read_text(encoding="utf-8")


def make_router(models: ServedModels, links: SourceLinks) -> APIRouter:
    """Make the route.

    Args:
        models: by name.
        links: which addresses are this server's.
    """
    router = APIRouter(responses=ERRORS, tags=["OpenAI"])

    @router.get("/source", response_class=HTMLResponse)
    def show_source(model: str, domain: str, passage: str, key: str = "") -> Response:
        """Show the document that a passage was cut from, with the passage marked. `key` is the server's signature."""
        if not compare_digest(key.encode(), links.sign(model, domain, passage).encode()):
            text = "the address of this source is not one that the server gave, or its token has changed since"
            raise RequestError(401, text, type="authentication_error", code="invalid_key")
        served = models.find(model)
        found = served.find_passage(domain, passage)
        try:
            shown = show_document(served.find_document(domain, get_document_id(found)), found)
        except RequestError:  # it was cut from none, or from one that is gone
            shown = {"title": found.title, "url": found.url, "passage": None}
        text, span = (shown["text"], shown["passage"]) if shown["passage"] else (found.text, {"start": 0, "end": None})
        start, end = span["start"], span["end"] or len(text)
        parts = {"before": text[:start], "passage": text[start:end], "after": text[end:], "name": found.name}
        url = escape(shown["url"]) if is_web_address(shown["url"]) else ""
        link = f' · <a href="{url}">{url}</a>' if url else ""
        escaped = {name: escape(part) for name, part in {**parts, "title": shown["title"] or found.name}.items()}
        return HTMLResponse(_PAGE.format(link=link, **escaped))

    return router
