"""The page of a document at a passage: where the citations of OpenAI's protocol lead. It needs no
script.
"""

from contextlib import suppress
from hmac import compare_digest
from html import escape
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from convrag import Document
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

    @router.get("/source", response_class=Response, responses={200: {"content": {"text/html": {}}}})
    def show_source(model: str, domain: str, passage: str, key: str = "") -> Response:
        """Show the document that a passage was cut from, with the passage marked. `key` is the
        server's signature.
        """
        if not compare_digest(key.encode(), links.sign(model, domain, passage).encode()):
            text = "the address of this source is not one that the server gave, or its token has changed since"
            raise RequestError(401, text, type="authentication_error", code="invalid_key")
        served = models.find(model)
        found = served.find_passage(domain, passage)
        shown = show_document(Document(found.id, found.text, found.title, found.url), found)
        with suppress(RequestError):  # it was cut from none, or from one that is gone
            whole = show_document(served.find_document(domain, get_document_id(found)), found)
            shown = whole if whole["passage"] else shown
        text, (start, end) = shown["text"], (shown["passage"] or {"start": 0, "end": 0}).values()
        parts = {
            "before": text[:start],
            "passage": text[start:end],
            "after": text[end:],
            "name": found.name,
        }
        parts["title"] = shown["title"] or shown["id"]
        parts["url"] = shown["url"] if is_web_address(shown["url"]) else ""
        return HTMLResponse(_PAGE.format_map({name: escape(part) for name, part in parts.items()}))

    return router
