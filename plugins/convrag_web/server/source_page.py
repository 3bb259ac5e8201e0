"""The page of a document at a passage, which citations of OpenAI's protocol link to.

It needs no script.
"""

from contextlib import suppress
from hmac import compare_digest
from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from convrag import Document, Passage
from convrag.sdk.output.printable import make_printable
from convrag_web.server.document_view import get_document_id, show_document
from convrag_web.server.errors import ERRORS, RequestError
from convrag_web.server.original_file import make_original_address
from convrag_web.server.served_model import ServedModel
from convrag_web.server.server_parts import Parts
from convrag_web.server.source_links import is_web_address

_PAGE = (Path(__file__).parents[1] / "page/source.html").read_text(encoding="utf-8")

router = APIRouter(responses=ERRORS, tags=["OpenAI"])


@router.get("/source", response_class=Response, responses={200: {"content": {"text/html": {}}}})
def show_source(parts: Parts, model: str, domain: str, passage: str, key: str = "") -> Response:
    """Show the document of a passage, with the passage marked. `key` is the server's signature."""
    signature = parts.links.sign(model, domain, passage)
    if not compare_digest(key.encode(), signature.encode()):
        raise RequestError(
            401,
            "the address of this source is not one that the server gave, or its token has changed "
            "since",
            type="authentication_error",
            code="invalid_key",
        )
    served = parts.models.find(model)
    found = served.find_passage(domain, passage)
    shown = _show_surroundings(served, domain, found)
    original = make_original_address(parts, served, domain, shown["id"])
    return HTMLResponse(_format_page(found, shown, _add_page(original, found)))


def _show_surroundings(model: ServedModel, domain: str, passage: Passage) -> dict[str, Any]:
    """Describe the document around a passage, or the passage alone if it is in no document."""
    with suppress(RequestError):  # it was not cut from a document, or from one that is gone
        document = model.find_document(domain, get_document_id(passage))
        shown = show_document(document, passage)
        if shown["passage"]:
            return shown
    alone = Document(passage.id, passage.text, passage.title, passage.url)
    return show_document(alone, passage)


def _add_page(original: str | None, passage: Passage) -> str:
    """Return the address of a file at the page of a passage; empty where there is no file."""
    page = passage.metadata.get("page")
    if not original or not isinstance(page, int):
        return original or ""
    return f"{original}#page={page}"


def _format_page(passage: Passage, shown: dict[str, Any], original: str) -> str:
    """Format the page of a document, as `show_document` describes it.

    Control characters are shown as signs: bidirectional ones would show the text in another order.

    Args:
        passage: that the page is about.
        shown: the document.
        original: the address of its file; empty where it is not shown.
    """
    text = shown["text"]
    span = shown["passage"] or {"start": 0, "end": 0}
    parts = {
        "before": text[: span["start"]],
        "passage": text[span["start"] : span["end"]],
        "after": text[span["end"] :],
        "name": passage.name,
        "title": shown["title"] or shown["id"],
        "original": original,
        "url": shown["url"] if is_web_address(shown["url"]) else "",
    }
    return _PAGE.format_map({name: escape(make_printable(part)) for name, part in parts.items()})
